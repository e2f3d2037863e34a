const byId = (id) => document.getElementById(id);

const query = new URLSearchParams(location.search);
const accountId = query.get("account_id") ?? "";
const token = query.get("checkout_token") ?? "";
const isCancelled = query.get("status_hint") === "cancelled";

/**
 * The waits before the further requests, in seconds: some six minutes in all. The API asks the payment provider at most
 * every four seconds.
 */
const waits = [1, 2, 3, 5, 8, 13, 20, 30, 45, 60, 60, 60, 60];

/** The time until the page leads the payer back after a payment, in seconds. */
const leadsBackAfter = 20;

const texts = {
  topup: {
    pending: "Confirming your payment",
    paid: "Your payment has arrived",
    failed: "Payment declined",
    expired: "Payment page expired",
    slow: "your payment counts",
    cancelled: "This checkout is not paid, and nothing was taken. To pay after all,",
  },
  payment_method: {
    pending: "Saving your payment method",
    paid: "Your payment method is saved",
    failed: "Payment method declined",
    expired: "Page expired",
    slow: "your payment method is saved",
    cancelled: "No payment method was saved. To save one after all,",
  },
};

function showMessage(title, text, { isFailure = false, isWaiting = false } = {}) {
  const isNew = byId("title").textContent !== title;
  byId("title").textContent = title;
  document.title = `${title} · Hosted Mail`;
  byId("outcome").toggleAttribute("data-failed", isFailure);
  byId("outcome").toggleAttribute("data-waiting", isWaiting);
  // If the same text were set again, a screen reader would read it out again.
  if (byId("outcome").textContent !== text) byId("outcome").textContent = text;
  if (isNew && !isWaiting) byId("title").focus();
}

/** The timer that leads the payer back, and the sentence that announces it. */
let returnTimer;
let returnText = "";

/**
 * Offers the way back, if the checkout names an address. Only web addresses become links, because `javascript:` is a
 * URL too.
 */
function offerWayBack(address, leadsBack) {
  if (!/^https?:\/\//.test(address ?? "")) return;
  const { host } = new URL(address);
  byId("back").href = address;
  byId("back").textContent = `${leadsBack ? "Continue" : "Back"} to ${host}`;
  byId("back").hidden = false;
  if (!leadsBack) return;
  returnText = ` In ${leadsBackAfter} seconds ${host} opens.`;
  byId("outcome").textContent += returnText;
  byId("stay").hidden = false;
  returnTimer = setTimeout(() => location.replace(address), leadsBackAfter * 1_000);
}

byId("stay").addEventListener("click", () => {
  clearTimeout(returnTimer);
  byId("outcome").textContent = byId("outcome").textContent.replace(returnText, "");
  byId("stay").hidden = true;
  byId("back").focus();
});

function showInvalidLink() {
  showMessage(
    "This link is not valid",
    "Open the whole address to which the payment page led you. If you paid, your payment is in your wallet all the same.",
    { isFailure: true },
  );
}

let asked = 0;
let timer;

/** Asks for the result again after the next wait. After the last wait, shows the button that asks again. */
function askLater(atLeastSeconds = 0) {
  const seconds = waits[asked++];
  if (seconds === undefined) {
    byId("again").hidden = false;
    return;
  }
  timer = setTimeout(ask, Math.max(seconds, atLeastSeconds) * 1_000);
}

function showPending(result, { pending, slow, cancelled }) {
  if (isCancelled) {
    showMessage("You left the payment page", `${cancelled} go back to the payment page in your browser.`);
    offerWayBack(result.dashboard_url, false);
    byId("again").hidden = false;
    return;
  }
  askLater();
  const isSlow = !byId("again").hidden;
  const text = `This takes longer than usual. You can close this page: ${slow} as soon as the provider reports it.`;
  showMessage(pending, isSlow ? text : result.message, { isWaiting: !isSlow });
  if (isSlow) offerWayBack(result.dashboard_url, false);
}

function showResult(result) {
  const { status, purpose, message } = result;
  const known = texts[purpose] ?? texts.topup;
  if (status === "pending") return showPending(result, known);
  showMessage(known[status], message, { isFailure: status !== "paid" });
  offerWayBack(result.dashboard_url, status === "paid");
}

function showNoAnswer(text, atLeastSeconds) {
  askLater(atLeastSeconds);
  const isLast = !byId("again").hidden;
  const next = isLast ? "Check again later." : "This page tries again by itself.";
  showMessage("We do not know the result yet", `${text} This changes nothing about your payment. ${next}`, {
    isFailure: true,
  });
}

/** Whether the product has answered, and not a proxy or firewall in its place. */
const isOurs = ({ headers }) => /json/.test(headers.get("content-type") ?? "");

async function ask() {
  clearTimeout(timer);
  byId("again").hidden = true;
  const path = `/v1/public/accounts/${encodeURIComponent(accountId)}/billing/checkout/result`;
  try {
    const response = await fetch(`${path}?checkout_token=${encodeURIComponent(token)}`, {
      credentials: "omit",
      signal: AbortSignal.timeout(20_000),
    });
    if (response.ok) showResult(await response.json());
    else if ([404, 422].includes(response.status) && isOurs(response)) showInvalidLink();
    else if (response.status === 429) {
      showNoAnswer("There were too many requests.", Number(response.headers.get("retry-after")));
    } else showNoAnswer("Something went wrong on our side.");
  } catch {
    showNoAnswer("We got no answer from our server. Check your connection.");
  }
}

byId("again").addEventListener("click", () => {
  asked = 0;
  // The button disappears, and the focus would be lost.
  byId("title").focus();
  showMessage(byId("title").textContent, "One moment…", { isWaiting: true });
  void ask();
});

if (accountId === "" || token === "") showInvalidLink();
else {
  showMessage(texts.topup.pending, "One moment…", { isWaiting: true });
  void ask();
}
