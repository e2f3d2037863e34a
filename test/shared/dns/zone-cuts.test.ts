import { expect, test } from "vitest";

import { type Zone, type ZoneCache, openZoneCuts } from "../../../shared/dns/delegation.ts";

const zone = (name: string): Zone => ({ name, endpoints: [], hosts: [] });

const opened = (): { cuts: ZoneCache; goTo: (ms: number) => void } => {
  let nowMs = 0;
  return { cuts: openZoneCuts(() => nowMs), goTo: (ms) => void (nowMs = ms) };
};

test("a top-level domain is cached for its TTL", () => {
  const { cuts, goTo } = opened();
  cuts.keep(zone("test"), 60);
  goTo(59_999);
  expect(cuts.find("www.example.test")).toEqual(zone("test"));
  expect(cuts.find("test")).toEqual(zone("test"));
  expect(cuts.find("example.contest")).toBeUndefined();
  goTo(60_000);
  expect(cuts.find("www.example.test")).toBeUndefined();
});

test("a zone below a top-level domain is not cached, so it displaces no cached top-level domain", () => {
  const { cuts } = opened();
  cuts.keep(zone("test"), 60);
  for (let index = 0; index < 600; index += 1) cuts.keep(zone(`${index}.test`), 60);
  expect(cuts.find("test")).toEqual(zone("test"));
});

test("500 top-level domains are cached, and the next one displaces the oldest", () => {
  const { cuts } = opened();
  for (let index = 0; index < 501; index += 1) cuts.keep(zone(`tld${index}`), 60);
  expect(cuts.find("tld0")).toBeUndefined();
  expect(cuts.find("tld1")).toBeDefined();
  expect(cuts.find("tld500")).toBeDefined();
});
