import { expect, test } from "vitest";
import { newAccount } from "../../support/world.ts";
import { active } from "../../support/domains.ts";
import { addedRecord, served, replyTo } from "../../support/dns-records.ts";

test("probe", async () => {
  const t: number[] = []; const lap = (n: string) => { const now = performance.now(); console.log(n, Math.round(now - last)); last = now; }; let last = performance.now();
  const account = await newAccount(); lap("account");
  const d = await active(account); lap("active");
  const e = await active(account); lap("active2");
  const r = await addedRecord(account, { domain: d.name, name: "www", type: "A", value: "192.0.2.1" }); lap("add");
  console.log(r, await served(`www.${d.name}`, "A")); lap("served");
  const ns = await addedRecord(account, { domain: d.name, name: "sub", type: "NS", value: "ns1.example.net" });lap("add");
  console.log(await served(`sub.${d.name}`, "NS"), JSON.stringify(await replyTo(`sub.${d.name}`, "NS")));
  console.log(await served(d.name, "MX"), await served(d.name, "TXT"), await served(`nope.${d.name}`, "A"), await served("example.com", "A"));
});
