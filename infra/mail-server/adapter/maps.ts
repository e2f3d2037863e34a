import { NoAnswer, type Api, type Recipient, type Verdict } from "./api.ts";

/** A table of Postfix: the value of a key; undefined if the table does not have the key. Throws `NoAnswer`. */
export type Table = (key: string) => Promise<string | undefined>;

const id = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const mailboxForm = new RegExp(`^(?<mailbox>${id})@(?<account>${id})$`);
const accountForm = new RegExp(`^${id}$`);

/** The mailbox and the account of a user inside of this system, `<mailbox id>@<account id>`; undefined for other text. */
export function readUser(user: string): { mailbox: string; account: string } | undefined {
  const { mailbox, account } = mailboxForm.exec(user)?.groups ?? {};
  return mailbox !== undefined && account !== undefined ? { mailbox, account } : undefined;
}

/** Whether a text is an address of the internet, and not one inside of this system or a pattern of Postfix. */
export const isAddress = (key: string): boolean => /^[^@]+@[^@]+\.[^@]+$/.test(key);

/** The recipients of a letter: the mailbox that keeps it, and the addresses that get a copy. */
function destinations({ mailbox_id, account_id, keep_copy = true, copies = [] }: Recipient): string[] {
  const own = mailbox_id !== undefined && keep_copy ? [`${mailbox_id}@${account_id}`] : [];
  return [
    ...own,
    ...copies.map((copy) => (copy.mailbox_id === null ? copy.address : `${copy.mailbox_id}@${account_id}`)),
  ];
}

/** The service of master.cf that sends a letter, and its next hop; undefined for the shared addresses. */
const service = ({ route }: Verdict): string | undefined => {
  const [ip] = route.source_ips ?? [];
  if (route.kind === "dedicated" && ip !== undefined) return `ip-${ip.replaceAll(":", "-")}:`;
  if (route.kind === "own_host" && route.relay !== undefined) return `own-host:${nextHop(route.relay)}`;
  return undefined;
};

/** An endpoint as Postfix writes it: `[192.0.2.1]:587`. */
const nextHop = (relay: string): string => (relay.startsWith("[") ? relay : relay.replace(/^(.*):(\d+)$/, "[$1]:$2"));

/** The recipient of an address; undefined for an address that does not exist. */
async function recipientOf(api: Api, key: string): Promise<Recipient | undefined> {
  if (!isAddress(key)) return undefined;
  const found = await api.recipient(key);
  return found.kind === "none" || found.kind === "unknown" ? undefined : found;
}

/** The tables of incoming mail. The outgoing Postfix uses `domains`, too. */
const incomingTables = (api: Api): Record<string, Table> => ({
  /** The domains of the API, and the ids of accounts. */
  domains: async (key) => {
    if (accountForm.test(key)) return "here";
    if (key.startsWith(".") || !key.includes(".") || key.includes("@")) return undefined;
    return (await api.recipient(`postmaster@${key}`)).kind === "unknown" ? undefined : "here";
  },
  /** The addresses and the users that exist. */
  recipients: async (key) => {
    if (readUser(key)) return "here";
    return (await recipientOf(api, key)) && "here";
  },
  /** The mailboxes and addresses that get the mail of an address. */
  route: async (key) => {
    const found = await recipientOf(api, key);
    const to = found ? destinations(found) : [];
    return to.length > 0 ? to.join(", ") : undefined;
  },
});

/**
 * The verdict on mail from an address of ours; undefined for any other address. Mail waits in the queue while its
 * sender may not send, for example because the mailbox is paused.
 */
async function verdictOf(api: Api, from: string): Promise<Verdict | undefined> {
  const owner = await recipientOf(api, from);
  if (owner?.mailbox === undefined) return undefined;
  const verdict = await api.sender(owner.mailbox, from);
  if (!verdict.allowed && verdict.reason?.code !== "not_yours") throw new NoAnswer(verdict.reason?.message ?? "");
  return verdict.allowed ? verdict : undefined;
}

/** The tables of outgoing mail, by the address of the sender. */
function outgoingTables(api: Api): Record<string, Table> {
  /** The names of own hosts by next hop. Postfix asks for `sender_transport` before every try, so a name is always here. */
  const hostNames = new Map<string, string>();
  return {
    /** The service of master.cf that sends the mail of an address, and the next hop. */
    sender_transport: async (key) => {
      const verdict = await verdictOf(api, key);
      const { relay, relay_name: name } = verdict?.route ?? {};
      if (relay !== undefined && name !== undefined) hostNames.set(nextHop(relay), name);
      return verdict && service(verdict);
    },
    /** The rule for TLS to a customer's own host: a certificate of the host's confirmed name. */
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
