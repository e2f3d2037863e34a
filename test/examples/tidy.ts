import { createHash } from "node:crypto";

type Json = unknown;

/** The ids of the people and things that are in every example, by their kinds. */
export type KnownIds = readonly (readonly [id: string, kind: string])[];

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Names in members, each with its kind. */
const sameKinds: Record<string, string> = {
  authorization: "grant",
  access: "grant",
  role_assignment: "assignment",
  created_by_user: "user",
  invited_by: "user",
  actor: "user",
  member: "user",
  idp_account: "account",
  audit: "entry",
  plan: "purchase_batch",
};

/** Members that hold ids of several kinds. They tell the kind of an id only if no other member does. */
const anyKind = new Set(["subject", "resource", "scope", "parent", "ids"]);

const singular = (plural: string): string => plural.replace(/ies$/, "y").replace(/xes$/, "x").replace(/s$/, "");

/** The kind of the id in a member, for an answer of a family of functions. */
function kindOf(member: string, parent: string, family: string): string {
  const owner = ["answer", "items"].includes(parent) ? family : parent;
  const kind = member === "id" ? singular(owner) : member.replace(/_ids?$/, "");
  return sameKinds[kind] ?? kind;
}

/**
 * Finds the kind of each id in a value, in the order in which the ids appear. An id inside a text has the kind of the
 * family.
 */
function kindsIn(value: Json, family: string, known: KnownIds): Map<string, string> {
  const kinds = new Map(known);
  const unsure = new Map<string, string>();
  const visit = (inner: Json, member: string, parent: string): void => {
    if (typeof inner === "string") {
      for (const [id] of inner.matchAll(uuid)) {
        const kind = id === inner ? kindOf(member, parent, family) : singular(family);
        const found = id !== inner || anyKind.has(kind) ? unsure : kinds;
        if (!found.has(id)) found.set(id, kind);
      }
    } else if (Array.isArray(inner)) for (const item of inner) visit(item, member, parent);
    else if (typeof inner === "object" && inner !== null) {
      for (const [name, child] of Object.entries(inner)) visit(child, name, member);
    }
  };
  visit(value, "", "");
  for (const [id, kind] of unsure) if (!kinds.has(id)) kinds.set(id, kind);
  return kinds;
}

/** The id that stands for the nth id of a kind. It has the form of the id that was recorded. */
function fixedId(recorded: string, kind: string, count: number): string {
  const hex = createHash("sha256").update(`${kind} ${count}`).digest("hex");
  const [a, b, , , e] = [hex.slice(0, 8), hex.slice(8, 12), "", "", hex.slice(18, 30)];
  const [version, rest, variant] = [recorded.charAt(14), hex.slice(12, 15), `a${hex.slice(15, 18)}`];
  // An id with the time, or with the number of a row, keeps this part.
  if (version === "7") return `${recorded.slice(0, 14)}7${rest}-${variant}-${e}`;
  if (recorded.startsWith("00000000-")) return `00000000-00${hex.slice(0, 2)}-8${rest}-${variant}-${e}`;
  return `${a}-${b}-${version}${rest}-${variant}-${e}`;
}

const exampleHex = "0123456789abcdef";
const exampleKey = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAExampleExampleExampleIDAQAB";
const exampleToken = "EXAMPLEexampleEXAMPLE1";
const publicId = "ExampleToken0000";
const serviceToken = `sat_${publicId}_ThisIsAnExampleAndNotATokenOfAnyAccount0000000`;

/** Random texts, and the fixed texts that replace the first, the second and further ones of an example. */
const randomTexts: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bd[0-9a-f]{12}\.com\b/g, ["example.com", "example.org", "example.net"]],
  [/\belsewhere[0-9a-f]{12}\.com\b/g, ["example.net", "example.org"]],
  [/\bmail\.ip[0-9a-f]{12}\.com\b/g, ["mta1.hosted-mail.example", "mta2.hosted-mail.example"]],
  [/(?<=\\t|[^0-9a-z])[0-9a-z]{12}(?=\.ns\d\.)/g, ["k3m9x2p7q4va"]],
  [/\b45\.(?!0\.0\.)\d+\.\d+\.\d+\b/g, ["203.0.113.7", "203.0.113.8"]],
  [/\btest-[0-9a-f]{12}\b/g, ["frankfurt-1"]],
  [/\bsat_[0-9A-Za-z]{16}_[0-9A-Za-z]{46}\b/g, [serviceToken]],
  [/\bwhsec_[\w+/=-]+/g, [`whsec_${Buffer.from("This is an example, not a secret").toString("base64")}`]],
  [/\bsk_[\w-]{24,}/g, ["sk_ExampleSetupKey000000000000"]],
  [/(?<="token":")[\w-]{22}(?=")|(?<=-[0-9a-f]{12}\.)[\w-]{22}(?=")/g, [exampleToken]],
  [/\bcs_(?:local|setup)_[0-9a-f]{16,}/g, ["cs_example_1"]],
  [/\bp=MII[\w+/=]+/g, [`p=${exampleKey}`]],
  [/(?<="request_id":")[\w+/]{15}=(?=")/g, ["ExampleRequest1="]],
  [/(?<="code":")\d{6}(?=")/g, ["123456"]],
  [/(?<=signature=)[\w-]{43}/g, ["example-signature"]],
  [/\b[0-9a-f]{64}\b/g, [exampleHex.repeat(4)]],
  [/\b[0-9a-f]{16}(?=-C?\d{6}\b)/g, [exampleHex]],
  [/https?:\/\/127\.0\.0\.1(?::\d+)?\/hook\b/g, ["https://example.com/hooks/mail"]],
  [/https?:\/\/127\.0\.0\.1(?::\d+)?\/_local\b/g, ["https://pay.example.com"]],
  [/https?:\/\/127\.0\.0\.1(?::\d+)?(?=\/)/g, ["https://api.example.com"]],
];

/** Random values by the names of their members. */
const randomMembers: Record<string, Json> = {
  token_prefix: serviceToken.slice(0, 8),
  token_last4: serviceToken.slice(-4),
  token_public_id: publicId,
  password: "ExamplePassword2026x",
  generated_secret: "ExampleSecret2026xyz",
  auth_code: "Example-Auth-Code",
  duration_ms: 48,
};

/**
 * Replaces all values of a recorded call that differ from run to run by fixed values. Ids of one kind become the same
 * ids in all examples.
 */
export function tidy<T>(recorded: T, name: string, known: KnownIds): T {
  const family = name.split(".").at(-2) ?? name;
  let text = JSON.stringify(recorded, (member, value: Json) =>
    Object.hasOwn(randomMembers, member) && value !== null ? randomMembers[member] : value,
  );
  const counts = new Map<string, number>();
  for (const [id, kind] of kindsIn(recorded, family, known)) {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    text = text.replaceAll(id, fixedId(id, kind, count));
  }
  for (const [pattern, fixed] of randomTexts) {
    const found = [...new Set(text.match(pattern))];
    text = text.replace(pattern, (match) => fixed[found.indexOf(match) % fixed.length] ?? match);
  }
  return JSON.parse(text) as T;
}
