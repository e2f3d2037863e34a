import type { Page } from "playwright-core";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { outboxPaths } from "../../infra/local/pages/outbox.ts";
import { mailed, mailsTo, ruleNow, ruleTo, stranger } from "../support/forwarding.ts";
import { newAccount, testTable } from "../support/world.ts";
import { hasBrowser, openProduct, type Product } from "./browser.ts";

const verifyPath = "/v1/public/forwarding/verify";

let product: Product;

/** Opens a page. `asked` collects its requests, and `complaints` the errors in the console of the browser. */
async function newPage(options: { width?: number } = {}) {
  const { base, openPage } = product;
  const page = await openPage(options);
  const asked: string[] = [];
  page.on("request", (one) => asked.push(`${one.method()} ${one.url().replace(base, "")}`));
  const complaints: string[] = [];
  page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
  return { page, base, asked, complaints };
}

const outcomeOf = async (page: Page, text: string): Promise<string> => {
  const outcome = page.getByRole("status").filter({ hasText: text });
  await outcome.waitFor();
  return outcome.innerText();
};

/** A rule that waits for its recipient, and the token in the mail to the recipient. */
async function waiting() {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { token } = await mailed(account, rule);
  const state = async () => (await ruleNow(account, rule.id))?.verification_state;
  return { account, rule, token, state };
}

describe.skipIf(!hasBrowser)("the page that a mail's link opens", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    product = await openProduct(outboxPaths(testTable()));
    return product.close;
  }, 60_000);

  test("confirms by its button, not when it is opened, and puts the token into no address", async () => {
    const { token, state } = await waiting();
    const { page, base, asked, complaints } = await newPage();
    const response = await page.goto(`${base}/verify#${token}`);
    expect(response?.headers()).toMatchObject({ "referrer-policy": "no-referrer", "cache-control": "no-store" });
    expect(response?.headers()["content-security-policy"]).not.toContain("unsafe");
    await page.getByRole("button").waitFor();
    expect(page.url()).toBe(`${base}/verify`);
    expect(await state()).toBe("pending");
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);

    await page.getByRole("button", { name: "Yes, send me copies" }).click();
    expect(await outcomeOf(page, "Copies can come to")).toContain("a***@e***.com");
    expect(await page.locator("h1").innerText()).toBe("Thank you, you have confirmed");
    expect(await page.evaluate("document.activeElement.id")).toBe("title");
    expect(await page.getByRole("button").count()).toBe(0);
    expect(await state()).toBe("verified");
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([`POST ${verifyPath}`]);
    expect(asked.filter((one) => one.includes(token))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("can be used by keyboard alone, on a narrow screen", async () => {
    const { token, state } = await waiting();
    const { page, base } = await newPage({ width: 320 });
    await page.goto(`${base}/verify#${token}`);
    await page.getByRole("button").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await outcomeOf(page, "Copies can come to");
    expect(await state()).toBe("verified");
  });

  test("says that a used link is not valid any more, and accepts another link in the same tab", async () => {
    const [used, fresh] = [await waiting(), await waiting()];
    const { page, base } = await newPage();
    await page.goto(`${base}/verify#${used.token}`);
    await page.getByRole("button").click();
    await outcomeOf(page, "Copies can come to");
    await page.goto(`${base}/verify#${used.token}`);
    await page.getByRole("button").click();
    expect(await outcomeOf(page, "A link works once")).toContain("new mail");
    expect(await page.locator("h1").innerText()).toBe("This link is not valid");
    await page.goto(`${base}/verify#${fresh.token}`);
    await page.getByRole("button").click();
    await outcomeOf(page, "Copies can come to");
    expect(await fresh.state()).toBe("verified");
  });

  test.each([
    ["does not answer", "abort", "We got no answer from our server"],
    ["answers 503", { status: 503, contentType: "application/problem+json", body: "{}" }, "wrong on our side"],
    ["answers 429", { status: 429, headers: { "retry-after": "600" }, body: "{}" }, "Try again in 10 minutes"],
  ] as const)("explains what is wrong if the API %s, and lets the person try again", async (_, answer, text) => {
    const { token, state } = await waiting();
    const { page, base } = await newPage();
    await page.route(`**${verifyPath}`, (route) => (answer === "abort" ? route.abort() : route.fulfill(answer)), {
      times: 1,
    });
    await page.goto(`${base}/verify#${token}`);
    await page.getByRole("button").click();
    await outcomeOf(page, text);
    expect(await state()).toBe("pending");
    await page.getByRole("button").click();
    await outcomeOf(page, "Copies can come to");
    expect(await state()).toBe("verified");
  });

  test("says that the first try probably worked, if the answer to it was lost", async () => {
    const { token, state } = await waiting();
    const { page, base } = await newPage();
    await page.route(
      `**${verifyPath}`,
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await page.goto(`${base}/verify#${token}`);
    await page.getByRole("button").click();
    await outcomeOf(page, "We got no answer from our server");
    await page.getByRole("button").click();
    expect(await outcomeOf(page, "Your first try probably worked")).toContain("new mail");
    expect(await state()).toBe("verified");
  });

  test("explains that the token is missing", async () => {
    const { page, base, asked } = await newPage();
    await page.goto(`${base}/verify`);
    expect(await outcomeOf(page, "Open the whole link in the mail")).toContain("nothing to do");
    expect(await page.getByRole("button").count()).toBe(0);
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);
  });

  test("has a link in the mail that the outbox shows", async () => {
    const { rule, token } = await waiting();
    const { page, base, complaints } = await newPage();
    const [asking] = await mailsTo(rule.target_email);
    await page.goto(`${base}/_local/outbox?to=${rule.target_email}`);
    await page.getByRole("link", { name: asking?.mail.subject ?? "" }).click();
    const link = page.frameLocator("iframe").getByRole("link").first();
    expect(await link.getAttribute("href")).toBe(`https://api.example.com/verify#${token}`);
    const opened = page.waitForEvent("popup");
    await page.context().route("https://api.example.com/**", (route) => route.fulfill({ body: "opened" }));
    await link.click();
    onTestFinished(async () => (await opened).close());
    expect((await opened).url()).toBe(`https://api.example.com/verify#${token}`);
    expect(complaints).toEqual([]);
  });
});
