import { startCommand } from "../command-line.ts";
import type { ServedRequest } from "../server/gateway.ts";

/** The part of the demo that the banner shows. */
type DemoTokens = { accounts: readonly { id?: string; name?: string; owner: { token: string } }[] };

const mcpConfiguration = (baseUrl: string, token: string): string =>
  JSON.stringify({
    mcpServers: {
      "hosted-mail": {
        type: "http",
        url: `${baseUrl}/v1/public/mcp`,
        headers: { Authorization: `Bearer ${token}` },
      },
    },
  });

type BannerOptions = {
  dataDir: string;
  database: string;
  dnsPort: number | undefined;
  webPort: number;
  hasOutbox: boolean;
  hasRegistry: boolean;
  mailKey: string | undefined;
  /** Whether the text contains whole tokens, and commands with these tokens. */
  showTokens: boolean;
  /** The index of the big account in the demo, if `--seed big` has filled it. */
  big?: number;
};

const accountsCommand = (baseUrl: string, token: string): string =>
  `curl ${baseUrl}/v1/public/accounts -H 'Authorization: Bearer ${token}'`;

/** Shortens a secret to its first and last characters. Hides a short secret completely. */
const shorten = (secret: string): string => (secret.length > 24 ? `${secret.slice(0, 10)}…${secret.slice(-6)}` : "…");

/** The commands with a whole token. */
const tokenText = (baseUrl: string, token: string): string => `
List the accounts of the demo's first owner:
${accountsCommand(baseUrl, token)}

For an MCP client:
${mcpConfiguration(baseUrl, token)}
`;

/**
 * The text without a whole token: a command that reads the owner's token from `demo.json`, the shortened token, and the
 * address for MCP. The command works in POSIX shells and in PowerShell. The path of `demo.json` has forward slashes,
 * because it is in a JavaScript string.
 */
function demoText(baseUrl: string, token: string, { dataDir }: BannerOptions): string {
  const file = `${dataDir.replaceAll("\\", "/")}/demo.json`;
  const tokenCommand = `node -p 'require(\`${file}\`).accounts[0].owner.token'`;
  return `
curl ${baseUrl}/v1/public/accounts -H "Authorization: Bearer $(${tokenCommand})"

Token       ${shorten(token)}  (${file} has all tokens; npm start -- --show-tokens prints commands with them)
MCP         ${baseUrl}/v1/public/mcp
`;
}

/** The text about the big account. */
function bigAccountText(baseUrl: string, { accounts }: DemoTokens, index: number): string {
  const { id = "", name = "" } = accounts[index] ?? {};
  return `Big account ${name} (${id}) is accounts[${index}] of demo.json: ${baseUrl}/v1/public/accounts/${id}/mailboxes\n`;
}

/**
 * The text that `npm start` shows: a command to paste, addresses, the data folder, and the key that stops the product.
 * Without whole tokens, the text fits a terminal of 24 lines.
 */
export function banner(baseUrl: string, demo: DemoTokens, options: BannerOptions): string {
  const { dataDir, database, dnsPort, webPort, hasOutbox, hasRegistry, mailKey, showTokens, big } = options;
  const token = demo.accounts[0]?.owner.token ?? "";
  const others = [...(hasOutbox ? ["outbox"] : []), ...(hasRegistry ? ["registry"] : [])];
  const localPages = ["tokens", "clock", "events", ...others].map((name) => `/_local/${name}`);
  const lines = [
    `Docs        ${baseUrl}/docs/overview (to begin: ${baseUrl}/docs/quickstart)`,
    `Reference   ${baseUrl}/docs`,
    `Playground  ${baseUrl}/docs/playground`,
    `OpenAPI     ${baseUrl}/v1/public/openapi.json`,
    `Local       ${localPages.join("  ")}`,
    `Websites    curl -i -H "Host: DOMAIN" http://127.0.0.1:${webPort}/`,
    ...(dnsPort === undefined ? [] : [`DNS         dig @127.0.0.1 -p ${dnsPort} mx DOMAIN`]),
    ...(mailKey === undefined
      ? []
      : [`Mail key    ${showTokens ? mailKey : `${mailKey.slice(0, 4)}…`} (X-Mail-Key of ${baseUrl}/internal/mail/…)`]),
    `Data        ${dataDir} (kept; ${startCommand(dataDir, "--reset")} deletes it)`,
    `Database    ${database}`,
    "Stop        Ctrl-C",
  ];
  return `
The hosted mail API runs at ${baseUrl}
${showTokens ? tokenText(baseUrl, token) : demoText(baseUrl, token, options)}
${big === undefined ? "" : bigAccountText(baseUrl, demo, big)}${lines.join("\n")}
`;
}

/** The log line of a request: its time, method, status, duration and path. */
export const servedLine = ({ method, path, status, durationMs }: ServedRequest, now: Date): string =>
  `${now.toTimeString().slice(0, 8)} ${method.padEnd(6)} ${status} ${durationMs.toFixed(0).padStart(4)} ms  ${path}`;

/** The output that shows the progress. */
type Screen = { isTTY?: boolean; write: (text: string) => unknown };

const width = 30;
const everyMs = 200;
const number = new Intl.NumberFormat("en");

function remainingText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  return seconds < 90 ? `, ${Math.ceil(seconds)} s left` : `, ${Math.round(seconds / 60)} min left`;
}

/** Returns a function that shows progress: as a moving bar on a terminal, and elsewhere as a line for each tenth. */
export function progressOn(screen: Screen, { of, unit }: { of: number; unit: string }, now = () => performance.now()) {
  const startedAt = now();
  let firstCount: number | undefined;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let tenths = 0;
  return (count: number): void => {
    firstCount ??= count;
    const share = Math.min(count / of, 1);
    const elapsed = now() - startedAt;
    const left = remainingText(((of - count) * elapsed) / (count - firstCount) / 1000);
    const text = `${number.format(count)} of ${number.format(of)} ${unit}`;
    if (!screen.isTTY) {
      if (Math.floor(share * 10) <= tenths) return;
      tenths = Math.floor(share * 10);
      screen.write(`${text}${count < of ? left : ""}\n`);
      return;
    }
    if (count < of && now() - drawnAt < everyMs) return;
    drawnAt = now();
    const bar = "█".repeat(Math.round(share * width)).padEnd(width, "░");
    screen.write(`\r\u001B[K${bar} ${text}${count < of ? left : "\n"}`);
  };
}
