import { startCommand } from "../command-line.ts";
import type { Served } from "../server/gateway.ts";

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
  mailKey: string | undefined;
  /** The index of the big account in the demo, if `--seed big` has filled it. */
  big?: number;
};

/** The banner's text about the big account. */
function bigAccountText(baseUrl: string, { accounts }: DemoTokens, index: number): string {
  const { id, name, owner } = accounts[index] ?? { owner: { token: "" } };
  return `
${name} (${id}) has them: accounts[${index}] of demo.json. List its mailboxes:
curl '${baseUrl}/v1/public/accounts/${id}/mailboxes?page_size=5' -H 'Authorization: Bearer ${owner.token}'
`;
}

/** The text shown after `npm start`: commands to paste, addresses, the data folder, and how to stop. */
export function banner(
  baseUrl: string,
  demo: DemoTokens,
  { dataDir, database, dnsPort, webPort, hasOutbox, mailKey, big }: BannerOptions,
): string {
  const token = demo.accounts[0]?.owner.token ?? "";
  return `
The hosted mail API runs at ${baseUrl}

List the accounts of the demo's first owner:
curl ${baseUrl}/v1/public/accounts -H 'Authorization: Bearer ${token}'
${big === undefined ? "" : bigAccountText(baseUrl, demo, big)}
For an MCP client:
${mcpConfiguration(baseUrl, token)}

Docs        ${baseUrl}/docs/overview (to begin: ${baseUrl}/docs/quickstart)
Reference   ${baseUrl}/docs
Playground  ${baseUrl}/docs/playground
OpenAPI     ${baseUrl}/v1/public/openapi.json
Tokens      ${baseUrl}/_local/tokens
Clock       ${baseUrl}/_local/clock
Events      ${baseUrl}/_local/events
Websites    curl -i -H 'Host: <domain>' http://127.0.0.1:${webPort}/
${hasOutbox ? `Outbox      ${baseUrl}/_local/outbox\n` : ""}${
    dnsPort === undefined
      ? ""
      : `Registry    ${baseUrl}/_local/registry
DNS         dig @127.0.0.1 -p ${dnsPort} mx <domain>
`
  }${mailKey === undefined ? "" : `Mail key    ${mailKey} (X-Mail-Key of ${baseUrl}/internal/mail/…)\n`}Data        ${dataDir} (kept; ${startCommand(dataDir, "--reset")} deletes it)
Database    ${database}
Stop        Ctrl-C
`;
}

/** The log line of a request: `12:04:11 GET 200 4 ms /v1/public/accounts`. */
export const servedLine = ({ method, path, status, durationMs }: Served, now: Date): string =>
  `${now.toTimeString().slice(0, 8)} ${method.padEnd(6)} ${status} ${durationMs.toFixed(0).padStart(4)} ms  ${path}`;

/** The output on which progress is shown. */
type Screen = { isTTY?: boolean; write: (text: string) => unknown };

const width = 30;
const everyMs = 200;
const number = new Intl.NumberFormat("en");

function remainingText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  return seconds < 90 ? `, ${Math.ceil(seconds)} s left` : `, ${Math.round(seconds / 60)} min left`;
}

/** Shows progress: as a moving bar on a terminal, else as a line for each tenth. */
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
