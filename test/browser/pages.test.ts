import { expect, onTestFinished, test } from "vitest";

import { docsPages } from "../../infra/docs-pages/pages.ts";
import { hasBrowser, openProduct } from "./browser.ts";

test.skipIf(!hasBrowser)(
  "the pages beside the reference fit a phone and a wide screen, in light and dark, and are found by the keyboard",
  { timeout: 60_000 },
  async () => {
    const { browser, base, close } = await openProduct();
    onTestFinished(close);
    const complaints: string[] = [];
    const tooWide: string[] = [];
    for (const [width, colorScheme] of [
      [390, "dark"],
      [1280, "light"],
    ] as const) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
      page.on("request", (asked) => asked.url().startsWith(base) || complaints.push(asked.url()));
      for (const { name } of docsPages) {
        await page.goto(`${base}/docs/${name}`);
        if (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) tooWide.push(`${name} ${width}`);
      }
      const background = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(background).toBe(colorScheme === "dark" ? "rgb(18, 22, 28)" : "rgb(255, 255, 255)");
    }
    expect(tooWide).toEqual([]);
    expect(complaints).toEqual([]);

    const phone = await browser.newPage({ viewport: { width: 390, height: 900 } });
    await phone.goto(`${base}/docs/errors#not_found`);
    expect(await phone.locator("tr:target").innerText()).toContain("404");
    await phone.goto(`${base}/docs/overview`);
    await phone.keyboard.press("Tab");
    expect(await phone.evaluate("document.activeElement.textContent")).toBe("Skip to the text");
    await phone.focus("summary");
    await phone.keyboard.press("Enter");
    await phone.getByRole("link", { name: "Webhooks", exact: true }).first().click();
    expect(await phone.locator("h1").innerText()).toContain("Webhooks");

    const desk = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await desk.goto(`${base}/docs`);
    await desk.getByRole("link", { name: "Docs", exact: true }).click();
    await desk.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Pagination" }).click();
    expect(await desk.locator('[aria-current="page"]').innerText()).toBe("Pagination");
  },
);
