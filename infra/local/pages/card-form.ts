import { escapeHtml } from "../../../shared/core/text.ts";

/** The result of charging a test card. */
type CardOutcome = "works" | "confirm" | "declined" | "expired";

/** The test cards, with Stripe's numbers (https://docs.stripe.com/testing). */
export const checkoutCards: readonly { number: string; outcome: CardOutcome; text: string }[] = [
  { number: "4242 4242 4242 4242", outcome: "works", text: "The payment succeeds" },
  { number: "4000 0027 6000 3184", outcome: "confirm", text: "The bank wants a confirmation" },
  { number: "4000 0000 0000 0002", outcome: "declined", text: "The card is declined" },
  { number: "4000 0000 0000 0069", outcome: "expired", text: "The card has expired" },
];

type Field = "number" | "expiry" | "cvc";

export type CardFault = { field: Field | undefined; message: string };

export type CardValues = Record<Field, string>;

export const emptyCard: CardValues = { number: "", expiry: "", cvc: "" };

export const cardValues = (form: URLSearchParams): CardValues => ({
  number: form.get("number") ?? "",
  expiry: form.get("expiry") ?? "",
  cvc: form.get("cvc") ?? "",
});

export const cardExpired: CardFault = { field: "expiry", message: "Your card has expired." };
const cardDeclined: CardFault = { field: undefined, message: "Your card was declined. Try another card." };

/** Whether a card with this month and year, such as 12/34, has expired. */
export const isPast = (expiry: string, now: Date): boolean => {
  const [month = 0, year = 0] = expiry.split("/").map(Number);
  return Date.UTC(2000 + (year % 100), month, 1) <= now.getTime();
};

/**
 * Reads the card that a payer typed. Returns `works` if the payment succeeds, `confirm` if the bank asks for a
 * confirmation, or the mistake in the card.
 */
export function readCard({ number, expiry, cvc }: CardValues, now: Date): "works" | "confirm" | CardFault {
  const digits = number.replaceAll(/[\s-]/g, "");
  if (!/^\d{13,19}$/.test(digits)) return { field: "number", message: "Your card number is incomplete." };
  const known = checkoutCards.find((one) => one.number.replaceAll(" ", "") === digits);
  if (!known) return { field: "number", message: "Only test cards work on this page: see the numbers below." };
  const date = expiry.replaceAll(/\s/g, "");
  if (!/^(?:0?[1-9]|1[0-2])\/(?:\d\d)?\d\d$/.test(date)) {
    return { field: "expiry", message: "Write the month and the year, such as 12/34." };
  }
  if (known.outcome === "expired" || isPast(date, now)) return cardExpired;
  if (!/^\d{3,4}$/.test(cvc.trim()))
    return { field: "cvc", message: "The security code must have three or four digits." };
  return known.outcome === "declined" ? cardDeclined : known.outcome;
}

const labels: Record<Field, { label: string; rest: string }> = {
  number: { label: "Card number", rest: 'autocomplete="cc-number" placeholder="4242 4242 4242 4242"' },
  expiry: { label: "Expiry", rest: 'autocomplete="cc-exp" placeholder="MM/YY"' },
  cvc: { label: "Security code", rest: 'autocomplete="cc-csc" placeholder="CVC"' },
};

function field(name: Field, values: CardValues, fault: CardFault | undefined): string {
  const { label, rest } = labels[name];
  const isWrong = fault?.field === name;
  const state = isWrong ? ` aria-invalid="true" aria-describedby="${name}-fault" autofocus` : "";
  const text = isWrong ? `<p class="fault" id="${name}-fault">${escapeHtml(fault.message)}</p>` : "";
  return `<div${name === "number" ? ' class="row"' : ""}><label for="${name}">${label}</label>
    <input id="${name}" name="${name}" value="${escapeHtml(values[name])}" required inputmode="${name === "expiry" ? "text" : "numeric"}" maxlength="30" ${rest}${state} />${text}</div>`;
}

/** The HTML form for a card. The browser posts the form to `action`. */
export function cardForm(action: string, button: string, values: CardValues, fault: CardFault | undefined): string {
  const alert = fault && fault.field === undefined ? `<div role="alert"><p>${escapeHtml(fault.message)}</p></div>` : "";
  const fields = (["number", "expiry", "cvc"] as const).map((name) => field(name, values, fault));
  return `${alert}<form method="post" action="${escapeHtml(action)}">
    <div class="fields">${fields.join("\n")}</div>
    <button class="pay">${escapeHtml(button)}</button>
  </form>`;
}

type TestCard = { number: string; text: string };

/** The HTML table of test cards. Card numbers are in groups of four digits. `result` is the heading of the texts. */
export const cardTable = (result: string, cards: readonly TestCard[]): string =>
  `<table><thead><tr><th scope="col">Test card</th><th scope="col">${result}</th></tr></thead><tbody>${cards
    .map(({ number, text }) => `<tr><td>${number.replaceAll(/(\d{4})(?=\d)/g, "$1 ")}</td><td>${text}</td></tr>`)
    .join("")}</tbody></table>`;
