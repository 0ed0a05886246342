// The views by the name in the address: each takes its parameters and returns a title and elements.
const VIEWS = {
  search: ["Search", searchView],
  timeline: ["Timeline", timelineView],
  sessions: ["Sessions", sessionsView],
  memories: ["Memories", recordsView("Memories", "memory", "No memory in this page.")],
  checkpoints: ["Checkpoints", recordsView("Checkpoints", "checkpoint", "No checkpoint in this page.")],
  plans: ["Plans", recordsView("Plans", "plan", "No plan in this page.")],
  pins: ["Pins", recordsView("Pins", "pin", "No pin in this page.")],
  about: ["About", aboutView],
};
const OTHERS = { session: ["sessions", sessionView], record: ["search", recordView] };
