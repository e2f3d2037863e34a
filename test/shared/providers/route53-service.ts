import { startLoopback, type Fault, type Recorded } from "./loopback.ts";

type StoredSet = { name: string; type: string; ttl: number; values: string[] };
export type StoredZone = {
  id: string;
  /** With a dot at the end. */
  name: string;
  reference: string;
  isPrivate?: boolean;
  sets: StoredSet[];
};

const namespace = 'xmlns="https://route53.amazonaws.com/doc/2013-04-01/"';
const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#x${character.charCodeAt(0).toString(16)};`);
const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const unescaped = (text: string): string => text.replace(/&(\w+);/g, (_, name: string) => entities[name] ?? "");
const all = (xml: string, tag: string): string[] =>
  [...xml.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, "gs"))].map(([, content = ""]) => content);
const one = (xml: string, tag: string): string => unescaped(all(xml, tag)[0] ?? "");

const document = (root: string, content: string, status = 200) => ({
  status,
  headers: { "content-type": "text/xml" },
  body: `<?xml version="1.0"?>\n<${root} ${namespace}>${content}</${root}>`,
});

/** An error as Route 53 writes it. */
export const fault = (code: string, status = 400, message = "No") =>
  document(
    "ErrorResponse",
    `<Error><Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message></Error><RequestId>1</RequestId>`,
    status,
  );

/** InvalidChangeBatch in the second form in which Route 53 documents this error. */
export const invalidBatch = (message: string) =>
  document(
    "InvalidChangeBatch",
    `<Messages><Message>${escaped(message)}</Message></Messages><RequestId>1</RequestId>`,
    400,
  );

const setXml = ({ name, type, ttl, values }: StoredSet): string =>
  `<ResourceRecordSet><Name>${escaped(name)}</Name><Type>${type}</Type><TTL>${ttl}</TTL><ResourceRecords>${values
    .map((value) => `<ResourceRecord><Value>${escaped(value)}</Value></ResourceRecord>`)
    .join("")}</ResourceRecords></ResourceRecordSet>`;

const zoneXml = ({ id, name, reference, isPrivate = false, sets }: StoredZone): string =>
  `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}</Name><CallerReference>${reference}</CallerReference>` +
  `<Config><PrivateZone>${isPrivate}</PrivateZone></Config>` +
  `<ResourceRecordSetCount>${sets.length}</ResourceRecordSetCount></HostedZone>`;

/** The sort key of a name. Route 53 lists names in the order of their labels from the end. */
const sortKey = (name: string): string => name.split(".").toReversed().join(".");
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const placeOf = ({ name, type }: Pick<StoredSet, "name" | "type">): string => `${sortKey(name)} ${type}`;

/** A new zone, with SOA and NS at its apex. */
export const newZone = (id: string, name: string, reference: string): StoredZone => ({
  id,
  name,
  reference,
  sets: [
    { name, type: "NS", ttl: 172_800, values: ["ns-1.awsdns-1.com.", "ns-2.awsdns-2.net."] },
    {
      name,
      type: "SOA",
      ttl: 900,
      values: ["ns-1.awsdns-1.com. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"],
    },
  ],
});

export type Route53Service = Awaited<ReturnType<typeof startRoute53>>;

/** A fault of the service for one request, or a change of its zones just before the request. */
export type Trouble = Fault | (() => void);

/**
 * A server with the protocol of Amazon Route 53 (REST-XML, 2013-04-01), with its zones in memory. `troubles` has the
 * faults of the first requests, one for each request.
 */
export async function startRoute53(...troubles: Trouble[]) {
  const zones = new Map<string, StoredZone>();
  const changes = new Map<string, string>();
  const changeInfo = (): string => {
    const id = `C${changes.size + 1}`;
    changes.set(id, "PENDING");
    return changeXml(id);
  };
  const changeXml = (id: string): string =>
    `<ChangeInfo><Id>/change/${id}</Id><Status>${changes.get(id)}</Status><SubmittedAt>2026-01-02T03:04:05.678Z</SubmittedAt></ChangeInfo>`;

  function create(body: string) {
    const [name, reference] = [one(body, "Name"), one(body, "CallerReference")];
    if ([...zones.values()].some((zone) => zone.reference === reference)) return fault("HostedZoneAlreadyExists", 409);
    const zone = newZone(`Z${zones.size + 1}`, name, reference);
    zones.set(zone.id, zone);
    const nameservers =
      "<DelegationSet><NameServers><NameServer>ns-1.awsdns-1.com</NameServer></NameServers></DelegationSet>";
    return document("CreateHostedZoneResponse", zoneXml(zone) + changeInfo() + nameservers, 201);
  }

  function listZones(query: URLSearchParams) {
    const from = `${sortKey(query.get("dnsname") ?? "")} ${query.get("hostedzoneid") ?? ""}`;
    const placeOfZone = ({ name, id }: StoredZone): string => `${sortKey(name)} ${id}`;
    const rest = [...zones.values()]
      .toSorted((a, b) => compare(placeOfZone(a), placeOfZone(b)))
      .filter((zone) => placeOfZone(zone) >= from);
    const size = Number(query.get("maxitems"));
    const next = rest[size];
    const more = next ? `<NextDNSName>${next.name}</NextDNSName><NextHostedZoneId>${next.id}</NextHostedZoneId>` : "";
    const page = `<HostedZones>${rest.slice(0, size).map(zoneXml).join("")}</HostedZones>`;
    return document(
      "ListHostedZonesByNameResponse",
      `${page}<DNSName>x</DNSName><IsTruncated>${next !== undefined}</IsTruncated>${more}<MaxItems>${size}</MaxItems>`,
    );
  }

  function listSets({ sets }: StoredZone, query: URLSearchParams) {
    // Route 53 writes the label `*` as `\052`.
    const from = `${sortKey((query.get("name") ?? "").replaceAll("*", "\\052"))} ${query.get("type") ?? ""}`;
    const rest = sets
      .toSorted((a, b) => compare(placeOf(a), placeOf(b)))
      .filter((set) => !query.has("name") || placeOf(set) >= from);
    const size = Number(query.get("maxitems"));
    const next = rest[size];
    const more = next
      ? `<NextRecordName>${next.name}</NextRecordName><NextRecordType>${next.type}</NextRecordType>`
      : "";
    const page = `<ResourceRecordSets>${rest.slice(0, size).map(setXml).join("")}</ResourceRecordSets>`;
    return document(
      "ListResourceRecordSetsResponse",
      `${page}<IsTruncated>${next !== undefined}</IsTruncated>${more}<MaxItems>${size}</MaxItems>`,
    );
  }

  function change(zone: StoredZone, body: string) {
    const sets = new Map(zone.sets.map((set) => [placeOf(set), set]));
    for (const xml of all(body, "Change")) {
      const set = {
        name: one(xml, "Name").replaceAll("*", "\\052"),
        type: one(xml, "Type"),
        ttl: Number(one(xml, "TTL")),
        values: all(xml, "Value").map(unescaped),
      };
      const known = sets.get(placeOf(set));
      if (one(xml, "Action") === "UPSERT") {
        sets.set(placeOf(set), set);
      } else if (!known || setXml(known) !== setXml(set)) {
        const why = known ? "the values provided do not match the current values" : "it was not found";
        return fault(
          "InvalidChangeBatch",
          400,
          `[Tried to delete resource record set [name='${set.name}'] but ${why}]`,
        );
      } else {
        sets.delete(placeOf(set));
      }
    }
    zone.sets = [...sets.values()];
    return document("ChangeResourceRecordSetsResponse", changeInfo());
  }

  function remove(zone: StoredZone) {
    if (zone.sets.length > 2) return fault("HostedZoneNotEmpty");
    zones.delete(zone.id);
    return document("DeleteHostedZoneResponse", changeInfo());
  }

  function answer({ method, path, body }: Recorded) {
    const { pathname, searchParams } = new URL(path, "http://route53");
    const [version, kind, id = "", part] = pathname.slice(1).split("/");
    if (version !== "2013-04-01") return fault("UnknownOperationException", 404);
    if (kind === "hostedzonesbyname") return listZones(searchParams);
    if (kind === "change")
      return changes.has(id) ? document("GetChangeResponse", changeXml(id)) : fault("NoSuchChange", 404);
    if (id === "") return create(body);
    const zone = zones.get(id);
    if (!zone) return fault("NoSuchHostedZone", 404);
    if (part === "rrset") return method === "GET" ? listSets(zone, searchParams) : change(zone, body);
    return remove(zone);
  }

  const service = await startLoopback(answer, () => {
    const trouble = troubles.shift();
    if (typeof trouble !== "function") return trouble;
    trouble();
    return undefined;
  });
  return { ...service, zones, changes, troubles };
}
