const byId = (id) => document.getElementById(id);

// Browsers send the fragment to no server. `replaceState` also removes the fragment from the address bar and the
// history.
let token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

/** Whether an earlier try may have confirmed the copies: its answer was lost, or was an error. */
let isUnsure = false;

function showStatus(text, isFailure = false) {
  byId("outcome").toggleAttribute("data-failed", isFailure);
  byId("outcome").textContent = text;
  byId("outcome").scrollIntoView({ block: "nearest" });
}

/** Shows the final result in place of the question. */
function showResult(title, text, isFailure = false) {
  token = "";
  byId("question").hidden = true;
  byId("title").textContent = title;
  document.title = `${title} · Hosted Mail`;
  showStatus(text, isFailure);
  byId("title").focus();
}

function showInvalidLink() {
  if (isUnsure) {
    showResult(
      "This link was used",
      "Your first try probably worked, but its answer did not arrive. If you get no copies, ask the sender of the copies for a new mail.",
    );
    return;
  }
  showResult(
    "This link is not valid",
    "A link works once, and for a limited time. If you still want the copies, ask their sender for a new mail.",
    true,
  );
}

const retryTimeOf = (response) => {
  const seconds = Number(response.headers.get("retry-after"));
  return seconds > 90 ? `in ${Math.ceil(seconds / 60)} minutes` : "in a minute";
};

/** Whether the product has answered, and not a proxy or firewall in its place. */
const isOurs = ({ headers }) => /json/.test(headers.get("content-type") ?? "");

async function show(response) {
  if (response.ok) {
    const { target_email } = await response.json();
    showResult(
      "Thank you, you have confirmed",
      `Copies can come to ${target_email} from now on. You can close this page.`,
    );
  } else if ([404, 422].includes(response.status) && isOurs(response)) showInvalidLink();
  else if (response.status === 429) showStatus(`There were too many tries. Try again ${retryTimeOf(response)}.`, true);
  else {
    isUnsure = true;
    showStatus("Something went wrong on our side. Try again in a minute.", true);
  }
}

async function confirm() {
  try {
    const response = await fetch("/v1/public/forwarding/verify", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
      credentials: "omit",
      signal: AbortSignal.timeout(20_000),
    });
    await show(response);
  } catch {
    isUnsure = true;
    showStatus("We got no answer from our server. Check your connection, and try again.", true);
  }
}

let isConfirming = false;

async function press() {
  isConfirming = true;
  byId("confirm").setAttribute("aria-disabled", "true");
  showStatus("One moment…");
  await confirm();
  byId("confirm").removeAttribute("aria-disabled");
  isConfirming = false;
}

// Opening the page confirms nothing, because programs open the links of mails too.
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!isConfirming && token !== "") void press();
});

// The link of another mail was opened in this tab.
window.addEventListener("hashchange", () => location.reload());

if (token === "") {
  showResult(
    "A part of the link is missing",
    "Open the whole link in the mail that we sent you. If you have no such mail, there is nothing to do.",
  );
} else byId("question").hidden = false;
