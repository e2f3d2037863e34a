import { platform } from "../core/platform.ts";
import { escapeHtml } from "../core/text.ts";

const imapPort = 993;
const smtpPort = 465;

const declaration = '<?xml version="1.0" encoding="utf-8"?>\n';

/**
 * The settings of a domain's mailboxes for mail clients, in Thunderbird's format, which many clients read
 * (https://wiki.mozilla.org/Thunderbird:Autoconfiguration:ConfigFileFormat).
 */
export function autoconfigXml(domain: string): string {
  const { mailHost } = platform();
  const server = (tag: string, type: string, port: number): string => `    <${tag} type="${type}">
      <hostname>${mailHost}</hostname>
      <port>${port}</port>
      <socketType>SSL</socketType>
      <authentication>password-cleartext</authentication>
      <username>%EMAILADDRESS%</username>
    </${tag}>
`;
  return `${declaration}<clientConfig version="1.1">
  <emailProvider id="${domain}">
    <domain>${domain}</domain>
    <displayName>${domain}</displayName>
    <displayShortName>${domain}</displayShortName>
${server("incomingServer", "imap", imapPort)}${server("outgoingServer", "smtp", smtpPort)}  </emailProvider>
</clientConfig>
`;
}

const responseOf = (content: string, schema = ""): string =>
  `${declaration}<Autodiscover xmlns="http://schemas.microsoft.com/exchange/autodiscover/responseschema/2006">
  <Response${schema}>
${content}  </Response>
</Autodiscover>
`;

/** The settings of a mailbox for Outlook (MS-OXDSCLI §2.2.4). The mailbox need not exist. */
export function autodiscoverXml(address: string): string {
  const { mailHost } = platform();
  const login = escapeHtml(address);
  const protocol = (type: string, port: number): string => `      <Protocol>
        <Type>${type}</Type>
        <Server>${mailHost}</Server>
        <Port>${port}</Port>
        <LoginName>${login}</LoginName>
        <DomainRequired>off</DomainRequired>
        <SPA>off</SPA>
        <SSL>on</SSL>
        <AuthRequired>on</AuthRequired>
      </Protocol>
`;
  return responseOf(
    `    <User>
      <DisplayName>${login}</DisplayName>
    </User>
    <Account>
      <AccountType>email</AccountType>
      <Action>settings</Action>
${protocol("IMAP", imapPort)}${protocol("SMTP", smtpPort)}    </Account>
`,
    ' xmlns="http://schemas.microsoft.com/exchange/autodiscover/outlook/responseschema/2006a"',
  );
}

/**
 * The answer to an invalid request of Outlook, or to a request for an address of another domain (MS-OXDSCLI
 * §2.2.4.1.1.2).
 */
export const autodiscoverError = (now: Date): string =>
  responseOf(`    <Error Time="${now.toISOString().slice(11, 23)}" Id="0">
      <ErrorCode>600</ErrorCode>
      <Message>Invalid Request</Message>
      <DebugData />
    </Error>
`);

/**
 * The address in a request of Outlook; undefined if the request has none. The request is not parsed as XML, because one
 * element is enough. A document with a DTD is refused, because a DTD could define entities.
 */
export function addressIn(request: string): string | undefined {
  if (request.includes("<!")) return undefined;
  return /<(?:\w+:)?EMailAddress>\s*([^<>&\s]{3,320})\s*</.exec(request)?.[1];
}
