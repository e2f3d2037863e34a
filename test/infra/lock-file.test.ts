import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { addIntegrity, withoutIntegrity, type LockFile } from "../../infra/lock-file/integrity.ts";
import { readSbom, withRefusedLicence } from "../../infra/lock-file/sbom.ts";

const lockFile = async (): Promise<LockFile> =>
  JSON.parse(await readFile(resolve(import.meta.dirname, "../../package-lock.json"), "utf8"));

test("only packages for one platform are in the lock file without a hash", async () => {
  const lock = await lockFile();
  for (const place of withoutIntegrity(lock)) {
    expect([place, lock.packages[place]]).toEqual([
      place,
      expect.objectContaining({ optional: true, os: [expect.any(String)], cpu: [expect.any(String)] }),
    ]);
  }
});

test("hashes that the registry knows are added; versions, other hashes, and packages unknown to the registry stay", async () => {
  const packages = {
    "": { version: "0.1.0" },
    "node_modules/here": { version: "1.0.0", integrity: "sha512-here" },
    "node_modules/@scope/darwin": { version: "2.0.0", os: ["darwin"] },
    "node_modules/here/node_modules/win32": { version: "3.0.0" },
    "node_modules/inside": { version: "4.0.0", inBundle: true },
    "node_modules/linked": { link: true },
  };
  const asked: string[] = [];
  const { lock, unknown } = await addIntegrity({ lockfileVersion: 3, packages }, async (name, version) => {
    asked.push(`${name}@${version}`);
    return name === "win32" ? undefined : "sha512-found";
  });
  expect(asked).toEqual(["@scope/darwin@2.0.0", "win32@3.0.0"]);
  expect(unknown).toEqual(["win32@3.0.0"]);
  expect(lock).toEqual({
    lockfileVersion: 3,
    packages: {
      ...packages,
      "node_modules/@scope/darwin": { version: "2.0.0", integrity: "sha512-found", os: ["darwin"] },
    },
  });
});

test("the bill of materials has every package of the product, each under a licence that is allowed", async () => {
  const sbom = await readSbom();
  const names = sbom.components.map(({ name }) => name);
  const { dependencies } = JSON.parse(await readFile(resolve(import.meta.dirname, "../../package.json"), "utf8"));
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  expect(names).not.toContain("vitest");
  expect(withRefusedLicence(sbom)).toEqual([]);
  const copyleft = { name: "copied", version: "1.0.0", licenses: [{ license: { id: "GPL-3.0-only" } }] };
  const unknown = { name: "nameless", version: "2.0.0" };
  const either = { name: "either", version: "3.0.0", licenses: [{ expression: "(GPL-3.0-only OR MIT)" }] };
  const components = [copyleft, unknown, either];
  expect(withRefusedLicence({ ...sbom, components })).toEqual(["copied@1.0.0", "nameless@2.0.0"]);
});
