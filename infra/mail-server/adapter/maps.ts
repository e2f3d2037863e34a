import { NoAnswer, type Api, type Recipient, type Verdict } from "./api.ts";

/**
 * A table of Postfix. Returns the value of a key, or undefined if the table does not have the key. Throws `NoAnswer`.
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
 * Whether a text is a mail address with a public domain. The names of internal users and the patterns of Postfix are no
 * such addresses.
 */
export const isAddress = (key: string): boolean => /^[^@]+@[^@]+\.[^@]+$/.test(key);

/** The recipients of a letter: the mailbox that keeps the letter, and the addresses that get a copy. */
function destinations({ mailbox_id, account_id, keep_copy = true, copies = [] }: Recipient): string[] {
  const own = mailbox_id !== undefined && keep_copy ? [`${mailbox_id}@${account_id}`] : [];
  return [
    ...own,
    ...copies.map((copy) => (copy.mailbox_id === null ? copy.address : `${copy.mailbox_id}@${account_id}`)),
  ];
}

/**
 * The service in master.cf that sends a letter, and the next hop. Undefined if the letter is sent from the shared
 * addresses.
 */
const service = ({ route }: Verdict): string | undefined => {
  const [ip] = route.source_ips ?? [];
  if (route.kind === "dedicated" && ip !== undefined) return `ip-${ip.replaceAll(":", "-")}:`;
  if (route.kind === "own_host" && route.relay !== undefined) return `own-host:${nextHop(route.relay)}`;
  return undefined;
};

/** A relay in the notation of Postfix: `[192.0.2.1]:587`. */
const nextHop = (relay: string): string => (relay.startsWith("[") ? relay : relay.replace(/^(.*):(\d+)$/, "[$1]:$2"));

/** The destination of mail to an address. Undefined if the address does not exist. */
async function recipientOf(api: Api, key: string): Promise<Recipient | undefined> {
  if (!isAddress(key)) return undefined;
  const found = await api.recipient(key);
  return found.kind === "none" || found.kind === "unknown" ? undefined : found;
}

/** The tables for incoming mail. The outgoing Postfix also uses `domains`. */
const incomingTables = (api: Api): Record<string, Table> => ({
  /** The domains that the API knows, and the ids of accounts. */
  domains: async (key) => {
    if (accountForm.test(key)) return "here";
    if (key.startsWith(".") || !key.includes(".") || key.includes("@")) return undefined;
    return (await api.recipient(`postmaster@${key}`)).kind === "unknown" ? undefined : "here";
  },
  /** The existing addresses, and the internal users. */
  recipients: async (key) => {
    if (readUser(key)) return "here";
    return (await recipientOf(api, key)) && "here";
  },
  /** The mailboxes and addresses that get the mail to an address. */
  route: async (key) => {
    const found = await recipientOf(api, key);
    const to = found ? destinations(found) : [];
    return to.length > 0 ? to.join(", ") : undefined;
  },
});

/**
 * The verdict on mail from a customer's address. Undefined for any other address. Throws `NoAnswer` while the sender
 * may not send, for example because the mailbox is paused. The mail then waits in the queue.
 */
async function verdictOf(api: Api, from: string): Promise<Verdict | undefined> {
  const owner = await recipientOf(api, from);
  if (owner?.mailbox === undefined) return undefined;
  const verdict = await api.sender(owner.mailbox, from);
  if (!verdict.allowed && verdict.reason?.code !== "not_yours") throw new NoAnswer(verdict.reason?.message ?? "");
  return verdict.allowed ? verdict : undefined;
}

/** The tables for outgoing mail. Their keys are sender addresses, and in `host_tls` next hops. */
function outgoingTables(api: Api): Record<string, Table> {
  /**
   * The names of customers' own hosts, by next hop. `sender_transport` stores a name here. Postfix asks for
   * `sender_transport` before every try, so the name is known when Postfix asks for `host_tls`.
   */
  const hostNames = new Map<string, string>();
  return {
    /** The service in master.cf that sends the mail from an address, and the next hop. */
    sender_transport: async (key) => {
      const verdict = await verdictOf(api, key);
      const { relay, relay_name: name } = verdict?.route ?? {};
      if (relay !== undefined && name !== undefined) hostNames.set(nextHop(relay), name);
      return verdict && service(verdict);
    },
    /** The TLS rule for a customer's own host: its certificate must have the host's confirmed name. */
    host_tls: (key) => {
      const name = hostNames.get(key);
      return Promise.resolve(name === undefined ? undefined : `secure match=${name}`);
    },
    /** The login at a customer's own host. */
    host_login: async (key) => {
      const login = (await verdictOf(api, key))?.route.relay_login;
      return login && `${login.user}:${login.password}`;
    },
  };
}

/** The tables of both Postfix instances, by their names. */
export const tablesOf = (api: Api): Record<string, Table> => ({
  ...incomingTables(api),
  ...outgoingTables(api),
});
