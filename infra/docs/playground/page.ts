import { element } from "./dom.ts";
import { Editor } from "./editor.ts";
import { mistakesIn, outcomeOf, problemOf, statusOf, type Envelope, type Problem } from "./outcome.ts";
import { ValueShapes, type Catalogue, type FunctionEntry } from "./value-shapes.ts";

const byId = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}.`);
  return found;
};
const field = (id: string): HTMLInputElement => byId(id) as HTMLInputElement;
const choice = (id: string): HTMLSelectElement => byId(id) as HTMLSelectElement;

const examples: readonly (readonly [string, string])[] = [
  ["Who am I", "me.get()"],
  [
    "My accounts and their workspaces",
    "page = accounts.list(page_size=5)\n[workspaces.list(account_id=a.id).total for a in page.items]",
  ],
  [
    "Add a workspace and read it",
    'account = accounts.list(page_size=1).items[0]\nw = workspaces.add(account_id=account.id, name="Playground NUMBER")\nworkspaces.get(account_id=account.id, workspace_id=w.id)',
  ],
  ["Find a function", 'functions.search(query="reset password")'],
  ["Explain a function", 'functions.explain(name="mailboxes.add")'],
  ["A program with mistakes", 'workspaces.ad(account_id="…", nme="Sales")'],
];

// The token is a secret. So the page reads the token from its field each time, and keeps no copy.
const token = () => field("token").value.trim();
let session = crypto.randomUUID();

type ProgramRequest = { request_id: string; session_id: string; code: string; dry_run?: true };

/** The signature of a function. Required parameters are bold. */
function signatureOf({ name, parameters, summary }: FunctionEntry): (Node | string)[] {
  const names = parameters.map(({ name, required }) =>
    element(required ? "b" : "span", {}, required ? name : `${name}?`),
  );
  const listed = names.flatMap((one, index) => (index === 0 ? [one] : [", ", one]));
  return [element("code", {}, name), "(", ...listed, `) · ${summary}`];
}

/** Loads the functions for completion. If this fails, there are no completions, but programs still run. */
async function loadShapes(): Promise<ValueShapes> {
  const answer = await fetch("/docs/functions.json").catch(() => undefined);
  const catalogue = answer?.ok ? ((await answer.json()) as Catalogue) : { functions: [], builtins: [], shapes: [null] };
  return new ValueShapes(catalogue);
}

const editor = new Editor({
  host: byId("editor"),
  text: "me.get()",
  shapes: loadShapes(),
  onFunction: (called) => byId("hint").replaceChildren(...(called ? signatureOf(called) : [])),
});

/** Shows a status. Screen readers also read `heard`. */
function showStatus(text: string, kind = "", heard = ""): void {
  byId("status").dataset["kind"] = kind;
  byId("status").replaceChildren(text, ...(heard === "" ? [] : [" ", element("span", { className: "heard" }, heard)]));
}

function showEnvelope(envelope: Envelope, program: string, timing: { ms: number; isReplayed: boolean }): void {
  const [mistake] = envelope.error?.message.split("\n") ?? [];
  showStatus(statusOf(envelope, timing), envelope.status, mistake);
  byId("outcome").replaceChildren(...outcomeOf(envelope, program, (at) => editor.goTo(at)));
  // If the user has changed the program since it was sent, the positions in the error do not fit the new text.
  if (editor.text === program) editor.underline(envelope.error ? mistakesIn(envelope.error).mistakes : []);
}

/**
 * Offers to send a request again, after there was no answer, or after an error that may be temporary. The repeated
 * request has the same `request_id`, so the program takes effect only once.
 */
function offerAgain(body: ProgramRequest): void {
  const again = element("button", { type: "button" }, "Send the same request again");
  again.addEventListener("click", () => {
    // The button disappears, and the focus would be lost.
    byId("outcome-title").focus();
    void send(body);
  });
  byId("outcome").replaceChildren(again);
}

/** Shows the fault of the token below its field. `text` is empty for a token that can be sent. */
function showTokenFault(text: string): void {
  byId("token-fault").textContent = text;
  byId("token").setAttribute("aria-invalid", String(text !== ""));
}

let isRunning = false;

function setRunning(value: boolean): void {
  isRunning = value;
  for (const id of ["run", "dry-run"]) byId(id).setAttribute("aria-disabled", String(value));
}

/**
 * The fault of a text that is no token. Empty for a token that can be sent. A header can have only visible ASCII
 * characters, so a token that was copied in shortened form, with an ellipsis, is a fault.
 */
function tokenFault(text: string): string {
  if (text === "") return "Paste an access token first.";
  return /^[!-~]+$/.test(text) ? "" : "This is no access token. Paste the whole token.";
}

async function send(body: ProgramRequest): Promise<void> {
  if (isRunning) return;
  const fault = tokenFault(token());
  showTokenFault(fault);
  if (fault !== "") return byId("token").focus();
  setRunning(true);
  showStatus("Running…");
  byId("outcome").replaceChildren();
  const startedAt = performance.now();
  const received = await post(body);
  setRunning(false);
  if (!received) {
    showStatus("There was no answer. You can send the same request again: it takes effect only once.", "failed");
    offerAgain(body);
    return;
  }
  const { response, answer } = received;
  const ms = performance.now() - startedAt;
  if (response.ok)
    showEnvelope(answer as Envelope, body.code, { ms, isReplayed: response.headers.has("idempotency-replayed") });
  else {
    showStatus(problemOf(response.status, answer as Problem), "failed");
    if ([409, 429].includes(response.status) || response.status >= 500) offerAgain(body);
  }
}

/** Posts a program. Undefined if no whole answer of the product arrives. */
async function post(body: ProgramRequest): Promise<{ response: Response; answer: unknown } | undefined> {
  try {
    const response = await fetch("/v1/public/a2a", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token()}` },
      body: JSON.stringify(body),
      credentials: "omit",
      // The API answers or gives up within 30 seconds.
      signal: AbortSignal.timeout(35_000),
    });
    const answer: unknown = await response.json();
    return response.ok && !Array.isArray((answer as Partial<Envelope>).responses) ? undefined : { response, answer };
  } catch {
    return undefined;
  }
}

function run(isDry: boolean): void {
  editor.closeCompletions();
  const body = { request_id: crypto.randomUUID(), session_id: session, code: editor.text };
  void send(isDry ? { ...body, dry_run: true } : body);
}

function showSession(): void {
  byId("session").textContent = session.slice(0, 8);
  byId("session").title = session;
}

byId("run").addEventListener("click", () => run(false));
byId("dry-run").addEventListener("click", () => run(true));

/**
 * Runs the program on Ctrl-Enter or Command-Enter. With Shift, runs it dry. Handles the keys before the editor does.
 */
function runByKeys(event: KeyboardEvent): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.stopPropagation();
  run(event.shiftKey);
}
for (const id of ["editor", "token"]) byId(id).addEventListener("keydown", runByKeys, { capture: true });
byId("who").addEventListener("submit", (event) => event.preventDefault());
byId("show-token").addEventListener("click", () => {
  const wasHidden = field("token").type === "password";
  field("token").type = wasHidden ? "text" : "password";
  byId("show-token").setAttribute("aria-pressed", String(wasHidden));
});
byId("new-session").addEventListener("click", () => {
  session = crypto.randomUUID();
  showSession();
});

choice("examples").append(...examples.map(([name], index) => new Option(name, String(index))));
byId("insert").addEventListener("click", () => {
  const [, code = ""] = examples[Number(choice("examples").value)] ?? [];
  editor.replace(code.replace("NUMBER", String(Date.now() % 1_000_000)));
});

type Holder = { token: string };
type Demo = {
  accounts: { name: string; owner: Holder; viewer: Holder; service_account: Holder }[];
  super_admin: Holder;
};

/** Offers the demo tokens. Only the local product serves them. */
async function offerDemo(): Promise<void> {
  const answer = await fetch("/_local/tokens").catch(() => undefined);
  if (!answer?.ok) {
    showStatus("This server has no demo tokens.", "failed");
    return;
  }
  const { accounts, super_admin } = (await answer.json()) as Demo;
  const people = accounts.flatMap(({ name, owner, viewer, service_account }) => [
    new Option(`${name}: owner`, owner.token),
    new Option(`${name}: viewer`, viewer.token),
    new Option(`${name}: service account`, service_account.token),
  ]);
  const who = choice("demo-who");
  who.replaceChildren(...people, new Option("Super admin", super_admin.token));
  byId("get-demo").hidden = true;
  for (const shown of [who, ...who.labels]) shown.hidden = false;
  field("token").value = who.value;
  who.focus();
}
byId("demo").hidden = !["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
byId("get-demo").addEventListener("click", () => void offerDemo());
choice("demo-who").addEventListener("change", () => {
  field("token").value = choice("demo-who").value;
});

showSession();
