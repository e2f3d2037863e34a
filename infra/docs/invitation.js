const byId = (id) => document.getElementById(id);
const storageName = "sign-in";

// Browsers send the fragment to no server. The address bar and the history keep neither the token nor the code.
const query = new URLSearchParams(location.search);
let token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

function showStatus(text, isFailure = false) {
  byId("outcome").toggleAttribute("data-failed", isFailure);
  byId("outcome").textContent = text;
}

function showTitle(title) {
  byId("title").textContent = title;
  document.title = `${title} · Hosted Mail`;
}

/** Shows the final result in place of the invitation. */
function showResult(title, text, isFailure = false) {
  byId("invitation").hidden = true;
  byId("next").hidden = true;
  showTitle(title);
  showStatus(text, isFailure);
  byId("title").focus();
}

let onPress = async () => {};
let isBusy = false;

/** Shows the only button of the page. While the work of a press is running, another press does nothing. */
function showButton(text, work) {
  byId("go").textContent = text;
  byId("next").hidden = false;
  onPress = work;
}

async function press() {
  isBusy = true;
  byId("go").setAttribute("aria-disabled", "true");
  try {
    await onPress();
  } finally {
    byId("go").removeAttribute("aria-disabled");
    isBusy = false;
  }
}

byId("go").addEventListener("click", () => {
  if (!isBusy) void press();
});

const accessText = ({ kind, role_key, capability_key, resource_type, resource_id, expires_at }) => {
  if (kind === "account_owner") return "Ownership of the account: you may do everything in it.";
  const what = kind === "role" ? `The role ${role_key.replaceAll("_", " ")}` : `The capability ${capability_key}`;
  const on = resource_type === null ? "the whole account" : `the ${resource_type.replaceAll("_", " ")} ${resource_id}`;
  const end = expires_at === null ? "" : `, until ${dateText(expires_at)}`;
  return `${what}, on ${on}${end}.`;
};

const dateForm = {
  year: "numeric",
  month: "long",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
  timeZoneName: "short",
};
const dateText = (at) => new Date(at).toLocaleString("en", dateForm);

function fillList(id, access) {
  const items = access.map((one) => Object.assign(document.createElement("li"), { textContent: accessText(one) }));
  byId(id).replaceChildren(...items);
}

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Posts JSON to the product. Returns the response with its JSON as `answer`. `answer` is undefined if the body is not
 * JSON, for example if a proxy answered. Undefined if no whole response arrives.
 */
async function post(path, body, headers = {}) {
  try {
    const response = await fetch(`/v1/public/invitations/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      credentials: "omit",
      signal: AbortSignal.timeout(20_000),
    });
    const { ok, status } = response;
    return { ok, status, answer: parsed(await response.text()), retryAfter: response.headers.get("retry-after") };
  } catch {
    return undefined;
  }
}

const retryText = (response) => {
  if (response === undefined) return "We got no answer from our server. Check your connection, and try again.";
  if (response.status !== 429) return "Something went wrong on our side. Try again in a minute.";
  const seconds = Number(response.retryAfter);
  return `There were too many tries. Try again ${seconds > 90 ? `in ${Math.ceil(seconds / 60)} minutes` : "in a minute"}.`;
};

const invalidLink = () =>
  showResult(
    "This link is not valid",
    "The link is incomplete or too old, or a newer mail replaced it. Ask the person who invited you for a new invitation.",
    true,
  );

/** Sends the browser to the issuer: the authorization code flow (RFC 6749) with PKCE (RFC 7636). */
async function signIn({ authorization_endpoint, token_endpoint, client_id, scope, parameters }, prompt) {
  const [state, verifier] = [randomText(), randomText()];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const redirect_uri = `${location.origin}${location.pathname}`;
  const url = new URL(authorization_endpoint);
  const asked = {
    ...parameters,
    ...prompt,
    response_type: "code",
    client_id,
    redirect_uri,
    scope,
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  const kept = { token, state, verifier, token_endpoint, client_id, redirect_uri };
  try {
    sessionStorage.setItem(storageName, JSON.stringify(kept));
  } catch {
    return showStatus("The browser stores nothing for this page. Allow this site to store data, and try again.", true);
  }
  return location.assign(url);
}

/** Gets an access token for the code that the issuer sent. Undefined if the issuer gives no token. */
async function exchange(code, { token_endpoint, client_id, redirect_uri, verifier }) {
  try {
    const response = await fetch(token_endpoint, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code,
        redirect_uri,
        client_id,
        code_verifier: verifier,
      }),
      credentials: "omit",
      signal: AbortSignal.timeout(20_000),
    });
    return response.ok ? (await response.json()).access_token : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Shows the invitation and how to accept it. With `prompt`, the issuer asks the user to sign in, even if the user is
 * signed in already.
 */
async function showInvitation(notice = "", prompt = {}) {
  showStatus("One moment…");
  const response = await post("preview", { token });
  const { answer } = response ?? {};
  if (answer?.code === "account_suspended") {
    return showResult("This invitation cannot be accepted now", answer.detail, true);
  }
  if (answer && [404, 422].includes(response.status)) return invalidLink();
  if (!answer || !response.ok) {
    showStatus(retryText(response), true);
    return showButton("Try again", () => showInvitation(notice, prompt));
  }
  const { account_name, email, invited_by, message, status, expires_at, access, sign_in } = answer;
  showTitle(`Your invitation to ${account_name}`);
  byId("who").textContent =
    `${invited_by ?? "Somebody who manages the account"} invites you to work in “${account_name}”, an account at Hosted Mail.`;
  byId("message").hidden = message === null;
  byId("message").textContent = message ?? "";
  fillList("access", access);
  byId("until").textContent = `The invitation is for ${email}, and ends on ${dateText(expires_at)}.`;
  if (status === "revoked") return showResult("This invitation was revoked", "Ask for a new one.", true);
  if (status === "accepted") {
    return showResult(
      "This invitation was accepted",
      "If it was you, you have access already. Else ask for a new one.",
      true,
    );
  }
  if (status === "expired") return showResult("This invitation has expired", "Ask for a new one.", true);
  byId("invitation").hidden = false;
  byId("title").focus();
  showStatus(notice, notice !== "");
  if (sign_in === null) {
    return showStatus("There is no sign-in page here. Accept the invitation with auth.invitations.accept.", true);
  }
  return showButton(prompt.prompt ? "Sign in as somebody else" : "Sign in to accept", () => signIn(sign_in, prompt));
}

async function accept(accessToken) {
  showStatus("One moment…");
  const response = await post("accept", { token }, { authorization: `Bearer ${accessToken}` });
  const { answer } = response ?? {};
  if (!answer || response.status === 429 || response.status >= 500) {
    showStatus(retryText(response), true);
    return showButton("Try again", () => accept(accessToken));
  }
  if (response.ok) return showAccepted(answer);
  if (response.status === 403) return showInvitation(answer.detail, { prompt: "login" });
  if (response.status === 401) return showInvitation("Your sign-in was not accepted. Try again.");
  if (response.status === 422) return invalidLink();
  return showResult(answer.title, answer.detail, true);
}

function showAccepted({ account_id, account_name, access }) {
  const given = access.filter(({ is_given }) => is_given);
  const missing = given.length < access.length;
  showResult(
    `Welcome to ${account_name}`,
    `You have access now. The account's id is ${account_id}.${missing ? " Some of the access in the invitation could not be given." : ""}`,
  );
  fillList("given", given);
  byId("given").hidden = false;
  byId("where").hidden = false;
}

/** Takes the data of the sign-in from the browser's storage. Null if there are none. */
function takeKept() {
  try {
    const kept = sessionStorage.getItem(storageName);
    sessionStorage.removeItem(storageName);
    return JSON.parse(kept ?? "null");
  } catch {
    return null;
  }
}

/** Goes on after the issuer has sent the browser back. */
async function goOn() {
  const kept = takeKept();
  if (kept === null || kept.state !== query.get("state")) {
    return showResult("This sign-in did not begin here", "Open the link in the mail that we sent you again.", true);
  }
  token = kept.token;
  const code = query.get("code");
  const accessToken = code === null ? undefined : await exchange(code, kept);
  if (accessToken === undefined) return showInvitation("You are not signed in. Try again.");
  return accept(accessToken);
}

// The link of another mail was opened in this tab.
window.addEventListener("hashchange", () => location.reload());

if (token !== "") await showInvitation();
else if (query.has("state")) await goOn();
else {
  showResult(
    "A part of the link is missing",
    "Open the whole link in the mail that we sent you. If you have no such mail, there is nothing to do.",
  );
}
