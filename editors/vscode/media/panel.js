// Sends clicks and queries to the extension, and shows the HTML that it answers with.
(function () {
  const vscode = acquireVsCodeApi();
  const answer = document.getElementById("answer");
  const query = document.getElementById("query");

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target.closest("[data-open], [data-session]") : null;
    if (target instanceof HTMLElement) {
      vscode.postMessage({ open: Number(target.dataset.open ?? -1), session: Number(target.dataset.session ?? -1) });
    }
  });
  if (!answer || !query) {
    return;
  }
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    answer.classList.add("busy");
    vscode.postMessage({ query: query.value });
  });
  window.addEventListener("message", (event) => {
    const message = event.data;
    if (typeof message.html === "string") {
      // The extension has escaped every text, and the policy lets nothing in it run.
      answer.classList.remove("busy");
      answer.innerHTML = message.html;
    }
    if (typeof message.query === "string") {
      query.value = message.query;
    }
    if (message.focus) {
      query.focus();
    }
  });
  vscode.postMessage({ ready: true });
})();
