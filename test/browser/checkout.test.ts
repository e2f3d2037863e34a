import { beforeAll, describe, expect, test, vi } from "vitest";

import { checkoutPaths } from "../../infra/local/pages/checkout.ts";
import { clock } from "../../shared/core/time.ts";
import { billing } from "../support/billing.ts";
import { newAccount, testTable } from "../support/world.ts";
import { hasBrowser, openProduct, type Product } from "./browser.ts";

let product: Product;

const resultPath = "**/billing/checkout/result*";
const token = `${"0".repeat(36)}.${"A".repeat(22)}`;
const address = `/checkout?account_id=a&checkout_token=${token}`;

/** The answer of the API about a checkout. `more` has the members that a test changes. */
const resultOf = (more: object) => ({
  json: {
    status: "paid",
    purpose: "topup",
    amount: "12.50",
    message: "Thank you. 12.50 USD went to your wallet.",
    account: { account_id: "a", currency: "USD" },
    checkout_token: token,
    dashboard_url: "https://app.example.com/wallet?status=paid",
    ...more,
  },
});

/** Opens a page. `complaints` collects the errors in the console of the browser. */
async function newPage(options: { width?: number } = {}) {
  const page = await product.openPage(options);
  const complaints: string[] = [];
  page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
  return { page, complaints, base: product.base };
}

describe.skipIf(!hasBrowser)("the pages of a checkout:", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    const webhookSecret = process.env["PAYMENTS_WEBHOOK_SECRET"] ?? "";
    product = await openProduct(checkoutPaths({ table: testTable(), webhookSecret, now: clock }));
    vi.stubEnv("PUBLIC_URL", product.base);
    return async () => {
      vi.unstubAllEnvs();
      await product.close();
    };
  }, 60_000);

  test("they lead from a top-up through a declined card and a confirmed payment to the result, and then to the return URL", async () => {
    const { page, base, complaints } = await newPage();
    const account = await newAccount();
    const return_url = "https://app.example.com/wallet?tab=1";
    const { body } = await billing(account, "POST", "topup-session", { amount: "12.50", return_url });
    await page.context().route("https://app.example.com/**", (route) => route.fulfill({ body: "the wallet" }));

    await page.goto(base + new URL(body.hosted_page.url).pathname);
    const placeholder = await page.evaluate(
      'getComputedStyle(document.querySelector("#number"), "::placeholder").color',
    );
    const noteColor = await page.evaluate('getComputedStyle(document.querySelector("h1")).color');
    expect(placeholder, "the placeholder has the colour of the page's notes").toBe(noteColor);
    const pay = async (number: string) => {
      await page.getByLabel("Card number").fill(number);
      await page.getByLabel("Expiry").fill("12/44");
      await page.getByLabel("Security code").fill("123");
      await page.getByRole("button", { name: "Pay 12.50 USD" }).click();
    };
    await pay("4000 0000 0000 0002");
    expect(await page.getByRole("alert").innerText()).toBe("Your card was declined. Try another card.");
    complaints.splice(0); // Chromium reports the 402.
    await pay("4000 0027 6000 3184");
    await page.getByRole("button", { name: "Yes, pay" }).click();

    await page.getByRole("status").filter({ hasText: "12.50 USD went to your wallet" }).waitFor();
    expect(await page.locator("h1").innerText()).toBe("Your payment has arrived");
    expect((await billing(account, "GET", "wallet-balance")).body.balance).toBe("12.50");
    await page.getByRole("link", { name: "Continue to app.example.com" }).click();
    await page.waitForURL(/app\.example\.com/);
    expect(page.url()).toBe(`${return_url}&checkout_token=${body.checkout_token}&status=paid`);
    expect(complaints).toEqual([]);
  });

  test("a payer who leaves the payment page is told that nothing was taken, and gets a link to the return URL", async () => {
    const { page, base } = await newPage();
    const account = await newAccount();
    const return_url = "https://app.example.com/wallet";
    const { body } = await billing(account, "POST", "topup-session", { amount: 5, return_url });
    await page.goto(base + new URL(body.hosted_page.url).pathname);
    await page.getByRole("link", { name: "Back to Hosted Mail" }).click();
    await page
      .getByRole("status")
      .filter({ hasText: "nothing was taken. To pay after all, go back to the payment page" })
      .waitFor();
    const href = await page.getByRole("link").getAttribute("href");
    expect(href).toContain(`${return_url}?`);
    expect(href).toContain("status=pending");
  });

  test("the result page asks again while the payment is pending or the server fails, then goes to the return URL by itself", async () => {
    const { page, base } = await newPage();
    const answers = [{ status: 503, body: "{}" }, "abort", resultOf({ status: "pending", message: "Wait." })] as const;
    let asked = 0;
    await page.route(resultPath, (route) => {
      const answer = answers[asked++] ?? resultOf({});
      return answer === "abort" ? route.abort() : route.fulfill(answer);
    });
    await page.context().route("https://app.example.com/**", (route) => route.fulfill({ body: "the wallet" }));
    await page.clock.install();
    await page.goto(base + address);
    const told = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();
    await told("wrong on our side. This changes nothing about your payment");
    await page.clock.runFor(1_000);
    await told("no answer from our server");
    await page.clock.runFor(2_000);
    await told("Wait.");
    await page.clock.runFor(3_000);
    await told("went to your wallet");
    await page.clock.runFor(20_000);
    await page.waitForURL("https://app.example.com/wallet?status=paid");
    expect(asked).toBe(4);
  });

  test("a payer can stay on the result page, by the keyboard and on a narrow screen", async () => {
    const { page, base } = await newPage({ width: 320 });
    await page.route(resultPath, (route) => route.fulfill(resultOf({})));
    await page.clock.install();
    await page.goto(base + address);
    await page.getByRole("button", { name: "Stay on this page" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
    expect(await page.evaluate("document.activeElement.id")).toBe("title");
    for (const key of ["Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await page.clock.runFor(60_000);
    expect(page.url()).toBe(base + address);
    expect(await page.getByRole("status").innerText()).toBe("Thank you. 12.50 USD went to your wallet.");
    expect(await page.evaluate("document.activeElement.id")).toBe("back");
  });

  test.each([
    ["a declined payment", resultOf({ status: "failed", message: "Nothing." }), "Payment declined", 1],
    ["an expired page", resultOf({ status: "expired", message: "Nothing." }), "Payment page expired", 1],
    ["a saved card", resultOf({ purpose: "payment_method" }), "Your payment method is saved", 1],
    ["a `javascript:` URL", resultOf({ dashboard_url: "javascript:alert(1)" }), "Your payment has arrived", 0],
    ["an unknown link", { status: 404, json: {} }, "This link is not valid", 0],
    ["the page of a proxy", { status: 404, body: "<p>Blocked</p>" }, "We do not know the result yet", 0],
  ] as const)("the result page says what %s means", async (_, answer, title, links) => {
    const { page, base } = await newPage();
    await page.route(resultPath, (route) => route.fulfill(answer));
    await page.goto(base + address);
    await page.getByRole("heading", { name: title }).waitFor();
    expect(await page.getByRole("link").count()).toBe(links);
  });

  test("a person who leaves the card page is told that no card was saved, and sees that a new check runs", async () => {
    const { page, base } = await newPage();
    await page.route(resultPath, (route) => route.fulfill(resultOf({ status: "pending", purpose: "payment_method" })));
    await page.goto(`${base}${address}&status_hint=cancelled`);
    const told = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();
    await told("No payment method was saved.");
    await page.unroute(resultPath);
    await page.route(resultPath, () => undefined);
    await page.getByRole("button", { name: "Check again" }).click();
    await told("One moment…");
    expect(await page.getByRole("button", { name: "Check again" }).isVisible()).toBe(false);
    expect(await page.evaluate("document.activeElement.id")).toBe("title");
  });

  test("the result page is private, and can be read without JavaScript", async () => {
    const context = await product.browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    const response = await page.goto(product.base + address);
    expect(response?.headers()).toMatchObject({ "referrer-policy": "no-referrer", "cache-control": "no-store" });
    expect(response?.headers()["content-security-policy"]).not.toContain("unsafe");
    expect(await page.locator("noscript").innerText()).toContain("your payment is safe");
    await page.getByRole("link", { name: "what happens after a payment" }).click();
    expect(await page.locator("#top-ups").innerText()).toContain("Top-ups");
    await context.close();
  });
});
