import { element } from "../playground/dom.ts";
import { openStorage } from "./storage.ts";

const section = document.querySelector<HTMLElement>("#try");
const form = section?.querySelector("form");
const tokenField = document.querySelector<HTMLInputElement>("#try-token");
const bodyField = document.querySelector<HTMLTextAreaElement>("#try-body");

// The tab's storage keeps the token under this key, so readers need not enter it again on the next page.
const tabTokenKey = "token";
const accountKey = "account";
const tab = openStorage(() => sessionStorage);
const accountField = document.querySelector<HTMLInputElement>("#try-path-account_id");

type TriedRequest = { path: string; init: RequestInit };

/** The first mistake in the token or the body, with a message for the reader. */
function mistakeInForm(): { field: HTMLElement; message: string } | undefined {
  if (tokenField && !/^[!-~]*$/.test(tokenField.value.trim())) {
    return { field: tokenField, message: "This is no access token. Paste the whole token." };
  }
  if (!bodyField || bodyField.value.trim() === "") return undefined;
  try {
    JSON.parse(bodyField.value);
    return undefined;
  } catch (error) {
    return { field: bodyField, message: `The body is not JSON: ${(error as Error).message}` };
  }
}

/** Marks a field as wrong or right. The element `#try-status` shows the mistake. */
function mark(field: HTMLElement, isWrong: boolean): void {
  const note = field === tokenField ? "try-note" : "";
  field.setAttribute("aria-invalid", String(isWrong));
  field.setAttribute("aria-describedby", isWrong ? `${note} try-status`.trim() : note);
}

/** Builds the request from the form. */
function formRequest(filled: HTMLFormElement): TriedRequest {
  const query = new URLSearchParams();
  const headers = new Headers();
  let path = filled.dataset["path"] ?? "";
  for (const field of filled.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[data-place]")) {
    const { name, value } = field;
    const place = field.dataset["place"];
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value.trim()));
    else if (value === "") continue;
    else if (place === "query") query.append(name, value);
    else headers.set(name, value);
  }
  const token = tokenField?.value.trim() ?? "";
  if (token !== "") headers.set("authorization", `Bearer ${token}`);
  const init: RequestInit = { method: filled.dataset["method"] ?? "GET", headers };
  if (bodyField && bodyField.value.trim() !== "") {
    headers.set("content-type", "application/json");
    init.body = bodyField.value;
  }
  return { path: query.size === 0 ? path : `${path}?${query.toString()}`, init };
}

const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const show = (status: string, isBad: boolean, ...parts: Node[]): void => {
  const line = document.querySelector<HTMLElement>("#try-status");
  if (line) {
    line.textContent = status;
    line.dataset["kind"] = isBad ? "failed" : "done";
  }
  document.querySelector("#try-answer")?.replaceChildren(...parts);
};

const block = (text: string, label: string): HTMLPreElement => {
  const pre = element("pre", { tabIndex: 0, textContent: text });
  pre.setAttribute("aria-label", label);
  pre.setAttribute("role", "region");
  return pre;
};

async function send(filled: HTMLFormElement): Promise<void> {
  const mistake = mistakeInForm();
  for (const field of [tokenField, bodyField]) if (field) mark(field, field === mistake?.field);
  if (mistake) {
    show(mistake.message, true);
    mistake.field.focus();
    document.querySelector("#try-status")?.scrollIntoView({ block: "nearest" });
    return;
  }
  const sent = formRequest(filled);
  if (tokenField) tab.set(tabTokenKey, tokenField.value.trim());
  if (accountField) tab.set(accountKey, accountField.value.trim());
  show("Sending…", false);
  const start = performance.now();
  try {
    const answer = await fetch(sent.path, sent.init);
    const text = await answer.text();
    const took = Math.round(performance.now() - start);
    const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const details = element("details", {}, element("summary", { textContent: "Headers" }), block(headers, "Headers"));
    const parts = [...(text === "" ? [] : [block(pretty(text), "Answer")]), details];
    show(`${answer.status} ${answer.statusText} · ${took} ms`, !answer.ok, ...parts);
  } catch (error) {
    show(`No answer: ${(error as Error).message}`, true);
  }
}

/** Fills in a demo token and its account. Only the local product serves demo tokens. */
async function useDemoToken(button: HTMLButtonElement): Promise<void> {
  const answer = await fetch("/_local/tokens").catch(() => undefined);
  if (!answer?.ok || !tokenField) {
    show("This server has no demo tokens.", true);
    return;
  }
  const { accounts } = (await answer.json()) as { accounts: { id: string; owner: { token: string } }[] };
  const [account] = accounts;
  if (!account) {
    show("This server has no demo account.", true);
    return;
  }
  tokenField.value = account.owner.token;
  if (accountField) accountField.value = account.id;
  button.textContent = "Demo token is filled in";
}

if (section && form) {
  if (tokenField) tokenField.value = tab.get(tabTokenKey) ?? "";
  if (accountField) accountField.value = tab.get(accountKey) ?? accountField.value;
  const demo = document.querySelector<HTMLButtonElement>("#try-demo");
  if (demo && ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)) {
    demo.closest("p")?.removeAttribute("hidden");
    demo.addEventListener("click", () => void useDemoToken(demo));
  }
  const button = form.querySelector("[type=submit]");
  let isSending = false;
  const setSending = (value: boolean): void => {
    isSending = value;
    button?.setAttribute("aria-disabled", String(value));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // The second answer to a double click would replace the first one, which may have a secret that is shown only once.
    if (isSending) return;
    setSending(true);
    void send(form).finally(() => setSending(false));
  });
  document.querySelector("#try-forget")?.addEventListener("click", () => {
    tab.remove(tabTokenKey);
    if (tokenField) tokenField.value = "";
    show("The token was removed from this tab.", false);
  });
  for (const shown of document.querySelectorAll("#try, .to-try")) shown.removeAttribute("hidden");
}
