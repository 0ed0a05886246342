// Before anything is drawn: the colour scheme that was chosen, if any.
try { document.documentElement.dataset.theme = localStorage.getItem("kinen-theme") ?? ""; } catch { /* storage is off */ }
