import { NoAnswer, type Api, type Recipient, type Verdict } from "./api.ts";

/**
 * A table of Postfix. Returns the value of a key, or undefined if the table does not have the key. Throws `NoAnswer`
 * if the API gives no usable answer, or if queued mail has to wait.
 */
export type Table = (key: string) => Promise<string | undefined>;

const id = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const mailboxForm = new RegExp(`^(?<mailbox>${id})@(?<account>${id})$`);
const accountForm = new RegExp(`^${id}$`);

/**
 * The mailbox id and the account id in the name of an internal user, `<mailbox id>@<account id>`. Undefined for any
 * other text.
 */
export function readUser(user: string): { mailbox: string; account: string } | undefined {
  const { mailbox, account } = mailboxForm.exec(user)?.groups ?? {};
  return mailbox !== undefined && account !== undefined ? { mailbox, account } : undefined;
}

/**
 * Whether a text is a mail address with a public domain. The names of internal users and the patterns of Postfix do not
 * count.
 */
export const isAddress = (key: string): boolean => /^[^@]+@[^@]+\.[^@]+$/.test(key);

/**
 * The service in master.cf that sends a letter, and the next hop. Undefined if the letter is sent from the shared IP
 * addresses.
 */
const serviceOf = ({ route }: Verdict): string | undefined => {
  const [ip] = route.source_ips ?? [];
  if (route.kind === "dedicated" && ip !== undefined) return `ip-${ip.replaceAll(":", "-")}:`;
  if (route.kind === "own_host" && route.relay !== undefined) return `own-host:${nextHop(route.relay)}`;
  return undefined;
};

/** A relay in the notation of Postfix: `[192.0.2.1]:587`. */
const nextHop = (relay: string): string => (relay.startsWith("[") ? relay : relay.replace(/^(.*):(\d+)$/, "[$1]:$2"));

/**
 * The API's answer for an address. Undefined in three cases: the text is no address, the API handles no mail for the
 * domain, or the API does not know the address and the MX of the domain is at another host.
 */
async function recipientOf(api: Api, key: string): Promise<Recipient | undefined> {
  if (!isAddress(key)) return undefined;
  const found = await api.recipient(key);
  return found.kind === "unknown" || found.is_mx_here === false ? undefined : found;
}

/** Whether the API handles mail for a domain. */
const isHere = async (api: Api, domain: string): Promise<boolean> =>
  (await api.recipient(`postmaster@${domain}`)).kind !== "unknown";

/**
 * The most addresses that are looked up for the mail to one address. Postfix itself looks up further addresses. Its
 * `virtual_alias_expansion_limit` is 200.
 */
const mostAddresses = 150;

/**
 * The API's answers for an address, and for the addresses outside its account to which its copies lead. The answer is
 * undefined if `recipientOf` returns undefined for the address.
 */
type Lookups = Map<string, Recipient | undefined>;

/** The addresses outside the account that get copies of the mail to an address. */
const outsideAddressesIn = (found: Recipient | undefined): string[] =>
  (found?.copies ?? []).flatMap(({ address, mailbox_id }) => (mailbox_id === null ? [address] : []));

/**
 * Looks up an address, and the addresses of its copies outside the account. These addresses can belong to other
 * accounts of the API.
 */
async function lookUp(api: Api, first: string): Promise<Lookups> {
  const lookups: Lookups = new Map();
  for (let level = [first]; level.length > 0;) {
    const found = await Promise.all(level.map((address) => recipientOf(api, address)));
    for (const [index, address] of level.entries()) lookups.set(address, found[index]);
    const next = new Set(found.flatMap(outsideAddressesIn).filter((address) => !lookups.has(address)));
    level = [...next].slice(0, Math.max(mostAddresses - lookups.size, 0));
  }
  return lookups;
}

/**
 * Returns the mailboxes and the outside addresses that get the mail to an address. The result is empty if the API
 * handles no mail for the address, or if the mail has no recipient. The function follows each address once, so two
 * accounts can forward to each other. A mailbox with `keep_copy` false keeps the mail in two cases: no copy has a
 * recipient, or all copies lead back to the mailbox.
 */
async function destinationsOf(api: Api, first: string): Promise<string[]> {
  const lookups = await lookUp(api, first);
  if (!lookups.get(first)) return [];
  const destinations = new Set<string>();
  /** Whether somebody gets the mail to an address. False while the address is being followed. */
  const reached = new Map<string, boolean>();
  const follow = (address: string): boolean => {
    const known = reached.get(address);
    if (known !== undefined) return known;
    reached.set(address, false);
    const found = lookups.get(address);
    if (!found) destinations.add(address);
    const { mailbox_id, account_id, keep_copy = true, copies = [] } = found ?? {};
    const user = (id: string): string => `${id}@${account_id}`;
    for (const copy of copies) if (copy.mailbox_id !== null) destinations.add(user(copy.mailbox_id));
    let isHandedOn = false;
    for (const copy of copies) if (copy.mailbox_id !== null || follow(copy.address)) isHandedOn = true;
    const isKept = mailbox_id !== undefined && (keep_copy || !isHandedOn);
    if (isKept) destinations.add(user(mailbox_id));
    reached.set(address, !found || isKept || isHandedOn);
    return reached.get(address) === true;
  };
  follow(first);
  return [...destinations];
}

/** The tables for incoming mail. The outgoing Postfix also uses `place`. */
const incomingTables = (api: Api): Record<string, Table> => ({
  /** The domains for which the API handles mail, and the ids of accounts. */
  domains: async (key) => {
    if (accountForm.test(key)) return "here";
    if (key.startsWith(".") || !key.includes(".") || key.includes("@")) return undefined;
    return (await isHere(api, key)) ? "here" : undefined;
  },
  /**
   * The place of the mail to an address of a domain for which the API handles mail. `elsewhere` if the API does not
   * know the address, and the MX of the domain is elsewhere.
   */
  place: async (key) => {
    const domain = key.slice(key.lastIndexOf("@") + 1);
    if (!key.includes("@") || !domain.includes(".") || !(await isHere(api, domain))) return undefined;
    return (await api.recipient(key)).is_mx_here === false ? "elsewhere" : "here";
  },
  /** The addresses whose mail somebody gets, and the internal users. */
  recipients: async (key) => (readUser(key) || (await destinationsOf(api, key)).length > 0 ? "here" : undefined),
  /**
   * The mailboxes and addresses that get the mail to an address. This table follows forwarding itself, for up to
   * `mostAddresses` addresses. Postfix looks up each result again, so Postfix follows the further addresses.
   */
  route: async (key) => (await destinationsOf(api, key)).join(", ") || undefined,
});

/**
 * The verdict on queued mail from a customer's address. Undefined for the empty sender, for an address in the system's
 * own domains, and for an address that no mailbox of its domain may use as its sender now. Throws `NoAnswer` if the
 * mail has to wait in the queue, for example because the mailbox is paused, the account is closed or the API does not
 * know the domain.
 */
async function verdictOf(api: Api, ownDomains: readonly string[], from: string): Promise<Verdict | undefined> {
  if (!isAddress(from) || ownDomains.includes(from.slice(from.lastIndexOf("@") + 1))) return undefined;
  const verdict = await api.queued(from);
  if (!verdict.allowed && verdict.reason?.code !== "not_yours") throw new NoAnswer(verdict.reason?.message ?? "");
  return verdict.allowed ? verdict : undefined;
}

/** The tables for outgoing mail. Their keys are sender addresses, and in `host_tls` next hops. */
function outgoingTables(api: Api, ownDomains: readonly string[]): Record<string, Table> {
  /**
   * The names of customers' own hosts, by next hop. `sender_transport` stores a name here. Postfix asks for
   * `sender_transport` before every try, so the name is known when Postfix asks for `host_tls`.
   */
  const hostNames = new Map<string, string>();
  return {
    /** The service in master.cf that sends the mail from an address, and the next hop. */
    sender_transport: async (key) => {
      const verdict = await verdictOf(api, ownDomains, key);
      const { relay, relay_name: name } = verdict?.route ?? {};
      if (relay !== undefined && name !== undefined) hostNames.set(nextHop(relay), name);
      return verdict && serviceOf(verdict);
    },
    /** The TLS rule for a customer's own host: its certificate must have the host's confirmed name. */
    host_tls: (key) => {
      const name = hostNames.get(key);
      return Promise.resolve(name === undefined ? undefined : `secure match=${name}`);
    },
    /** The login at a customer's own host. */
    host_login: async (key) => {
      const login = (await verdictOf(api, ownDomains, key))?.route.relay_login;
      return login && `${login.user}:${login.password}`;
    },
  };
}

/**
 * The tables of both Postfix instances, by their names. `ownDomains` are the names of the system itself: its host name
 * and the SRS domain.
 */
export const tablesOf = (api: Api, ownDomains: readonly string[]): Record<string, Table> => ({
  ...incomingTables(api),
  ...outgoingTables(api, ownDomains),
});
