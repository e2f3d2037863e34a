import { Editor } from "./playground-editor.js";
import { mistakesIn, outcomeOf, problemOf, statusOf } from "./playground-outcome.js";

const place = (id) => document.getElementById(id);

const examples = [
  ["Who am I", "me.get()"],
  [
    "My accounts and their workspaces",
    "page = accounts.list(page_size=5)\n[workspaces.list(account_id=a.id).total for a in page.items]",
  ],
  [
    "Add a workspace, and read it back",
    'account = accounts.list(page_size=1).items[0]\nw = workspaces.add(account_id=account.id, name="Playground NUMBER")\nworkspaces.get(account_id=account.id, workspace_id=w.id)',
  ],
  ["Find a function", 'functions.search(query="reset password")'],
  ["Everything about one", 'functions.explain(name="mailboxes.add")'],
  ["A mistake, to see how it is told", 'workspaces.ad(account_id="…", nme="Sales")'],
];

// A token is worth what its holder may do: it is kept nowhere but in the field.
const token = () => place("token").value.trim();
let session = crypto.randomUUID();
/** The request whose answer did not come, which can be sent again without doing anything twice. */
let unanswered;

const editor = new Editor({ field: place("code"), paint: place("paint"), list: place("choices"), hint: place("hint") });

function tell(text, kind = "") {
  place("status").dataset["kind"] = kind;
  place("status").textContent = text;
}

function showEnvelope(envelope, program, timing) {
  tell(statusOf(envelope, timing), envelope.status);
  place("outcome").replaceChildren(...outcomeOf(envelope, program, (at) => editor.goTo(at)));
  // Who has gone on writing meanwhile has another program.
  if (editor.text === program) editor.mark(envelope.error ? mistakesIn(envelope.error).mistakes : []);
}

function offerAgain() {
  const again = Object.assign(document.createElement("button"), { type: "button", textContent: "Send the same again" });
  again.addEventListener("click", () => void send(unanswered));
  place("outcome").replaceChildren(again);
}

let isAtIt = false;

function setAtIt(value) {
  isAtIt = value;
  for (const id of ["run", "dry-run"]) place(id).setAttribute("aria-disabled", String(value));
}

async function send(body) {
  if (isAtIt) return;
  setAtIt(true);
  tell("Running…");
  place("outcome").replaceChildren();
  unanswered = body;
  const startedAt = performance.now();
  try {
    const response = await fetch("/v1/public/a2a", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token()}` },
      body: JSON.stringify(body),
      credentials: "omit",
      signal: AbortSignal.timeout(35_000),
    });
    const answer = await response.json();
    const ms = performance.now() - startedAt;
    if (response.ok) showEnvelope(answer, body.code, { ms, isReplayed: response.headers.has("idempotency-replayed") });
    else {
      tell(problemOf(response.status, answer), "failed");
      if ([409, 429, 500, 503].includes(response.status)) offerAgain();
    }
  } catch {
    tell("No answer came. What was done is not done twice when you send the same again.", "failed");
    offerAgain();
  }
  setAtIt(false);
}

function run(isDry) {
  editor.close();
  if (token() === "") {
    tell("Paste an access token first.", "failed");
    place("token").focus();
    return;
  }
  const body = { request_id: crypto.randomUUID(), session_id: session, code: editor.text };
  void send(isDry ? { ...body, dry_run: true } : body);
}

function showSession() {
  place("session").textContent = session.slice(0, 8);
  place("session").title = session;
}

place("run").addEventListener("click", () => run(false));
place("dry-run").addEventListener("click", () => run(true));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  run(event.shiftKey);
});
place("who").addEventListener("submit", (event) => event.preventDefault());
place("show-token").addEventListener("click", () => {
  const isShown = place("token").type === "password";
  place("token").type = isShown ? "text" : "password";
  place("show-token").setAttribute("aria-pressed", String(isShown));
});
place("new-session").addEventListener("click", () => {
  session = crypto.randomUUID();
  showSession();
});

const textOf = ([, code]) => code.replace("NUMBER", String(Date.now() % 1_000_000));

place("examples").append(...examples.map(([name], index) => new Option(name, String(index))));
place("examples").addEventListener("change", ({ target }) => {
  editor.text = textOf(examples[Number(target.value)]);
  // The same one can be taken again.
  target.value = "";
});

/** On one's own machine the product gives away the tokens of its demo; deployed there is no such path. */
async function offerDemo() {
  const answer = await fetch("/_local/tokens").catch(() => undefined);
  if (!answer?.ok) {
    tell("There are no demo tokens here.", "failed");
    return;
  }
  const { accounts, super_admin } = await answer.json();
  const people = accounts.flatMap(({ name, owner, viewer, service_account }) => [
    [`${name}: owner`, owner.token],
    [`${name}: viewer`, viewer.token],
    [`${name}: service account`, service_account.token],
  ]);
  const who = place("demo-who");
  who.replaceChildren(
    ...[...people, ["Super admin", super_admin.token]].map(([name, value]) => new Option(name, value)),
  );
  place("get-demo").hidden = true;
  who.hidden = false;
  who.labels[0].hidden = false;
  place("token").value = who.value;
  who.focus();
}
place("demo").hidden = !["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
place("get-demo").addEventListener("click", () => void offerDemo());
place("demo-who").addEventListener("change", ({ target }) => {
  place("token").value = target.value;
});

showSession();
editor.refresh();
const { functions, shapes } = await fetch("/docs/functions.json").then((answer) => answer.json());
editor.known = { functions: new Map(functions.map((one) => [one.name, one])), shapes };
editor.refresh();
