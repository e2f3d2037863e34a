const place = (id) => document.getElementById(id);

// The fragment is not sent to any server; from here on it is not in the address bar and the history either.
let token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

/** Whether a press may have confirmed without our having heard of it. */
let isUnsure = false;

function tell(text, isFailure = false) {
  place("outcome").toggleAttribute("data-failed", isFailure);
  place("outcome").textContent = text;
  place("outcome").scrollIntoView({ block: "nearest" });
}

/** The last thing there is to say. */
function end(title, text, isFailure = false) {
  token = "";
  place("question").hidden = true;
  place("title").textContent = title;
  document.title = `${title} · Hosted Mail`;
  tell(text, isFailure);
  place("title").focus();
}

function endUnknown() {
  if (isUnsure) {
    end(
      "This link was used",
      "Your first try probably worked, but its answer did not arrive. If you get no copies, ask the sender of the copies for a new mail.",
    );
    return;
  }
  end(
    "This link is not valid",
    "A link works once, and for a limited time. If you still want the copies, ask their sender for a new mail.",
    true,
  );
}

const soon = (response) => {
  const seconds = Number(response.headers.get("retry-after"));
  return seconds > 90 ? `in ${Math.ceil(seconds / 60)} minutes` : "in a minute";
};

async function show(response) {
  if (response.ok) {
    const { target_email } = await response.json();
    end("Thank you, you have confirmed", `Copies can come to ${target_email} from now on. You can close this page.`);
  } else if (response.status === 404 || response.status === 422) endUnknown();
  else if (response.status === 429) tell(`There were too many tries. Try again ${soon(response)}.`, true);
  else {
    isUnsure = true;
    tell("Something went wrong on our side. Try again in a minute.", true);
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
    tell("We got no answer from our server. Check your connection, and try again.", true);
  }
}

let isAtIt = false;

async function press() {
  isAtIt = true;
  place("confirm").setAttribute("aria-disabled", "true");
  tell("One moment…");
  await confirm();
  place("confirm").removeAttribute("aria-disabled");
  isAtIt = false;
}

// Nothing is confirmed by opening the page, as programs open the links of mails too.
place("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!isAtIt && token !== "") void press();
});

// Another mail's link, opened in this tab.
window.addEventListener("hashchange", () => location.reload());

if (token === "") {
  end(
    "A part of the link is missing",
    "Open the whole link in the mail that we sent you. If you have no such mail, there is nothing to do.",
  );
} else place("question").hidden = false;
