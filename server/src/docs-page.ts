import type { Addresses } from './addresses.ts'
import type { OpenApi } from './api-documents.ts'
import { guidePath, type GuideFile } from './guides.ts'
import { html, type HtmlPart, type HtmlText } from './kernel/html.ts'

/** What not every installation has. */
export interface Parts {
  readonly sandbox: boolean
  /** The QR service and its webhooks. */
  readonly qr: boolean
}

/** One service of the interface, in the words of whoever looks for it. */
interface Service {
  readonly title: string
  readonly about: HtmlText
  /** A page to begin with, and what it leads through. */
  readonly guide?: readonly [file: GuideFile, what: string, anchor?: string]
  readonly apis: readonly Api[]
  readonly more?: HtmlPart
}

interface Api {
  /** Of the document under `/docs/openapi`. */
  readonly name: string
  /** The paths of the document lie under it. */
  readonly address: string
  readonly key: HtmlText
}

const secretKey = html`your secret key, as <code>X-API-Key</code>`
const userName = html`your secret key, as the user name of HTTP Basic`

/** In the order in which somebody who is new here needs them. */
const servicesOf = (addresses: Addresses, { sandbox, qr }: Parts): readonly Service[] => [
  {
    title: 'Take payments online',
    about: html`A payment link is one <code>POST</code>, and a page on which a payer pays it. Payment intents are for a checkout of your own.
Both can be refunded.`,
    guide: ['README.md', 'A tour of five minutes', 'a-tour-of-five-minutes'],
    apis: [{ name: 'ecommerce', address: addresses.base, key: secretKey }],
  },
  {
    title: 'Hear what became of them',
    about: html`Events come as signed webhooks, and are tried again for days. Register your receiver, rotate its secret, send again what it
missed.`,
    guide: ['docs/webhooks.md', 'Receivers in six languages, and when you are down'],
    apis: [{ name: 'webhooks', address: addresses.base, key: secretKey }],
  },
  {
    title: 'Take cards at a terminal',
    about: html`A till starts a payment, a card terminal makes it, and both are told the truth, also when lines drop.`,
    guide: ['docs/terminals.md', 'A payment at a virtual terminal, and a line that drops'],
    apis: [
      {
        name: 'terminals',
        address: addresses.terminal,
        key: html`that of a till, as <code>x-api-key</code>, and a signature with its secret`,
      },
    ],
    more: html`<p>Tills and terminals may also speak over a socket, at <code>${addresses.terminalWs}/v1</code>. AsyncAPI 3:
<a href="/docs/asyncapi/terminals.json">terminals.json</a></p>`,
  },
  ...(qr
    ? [
        {
          title: 'Take QR Ph',
          about: html`A code is for one payment. A payer scans it with a bank app, and you are sent a notification that you alone can open.`,
          guide: ['docs/qr-ph.md', 'From a code to its notification, without a centavo'] as const,
          apis: [
            { name: 'qr', address: addresses.qr, key: userName },
            { name: 'qr_webhooks', address: addresses.webhooks, key: userName },
          ],
        },
      ]
    : []),
  {
    title: 'See the money',
    about: html`Transactions, settlements, merchants and branches, to read and to export as CSV.`,
    apis: [{ name: 'reporting', address: addresses.base, key: secretKey }],
  },
  ...(sandbox
    ? [
        {
          title: 'Try what goes wrong',
          about: html`Move the clock to see a link expire or the ninth retry arrive. Start terminals that decline, drop their line or answer
late. Pay and refuse codes in the <a href="${addresses.sandbox}/bank">bank app</a>.`,
          guide: ['docs/interface.md', 'Cards that decline, ask or stay silent', 'sandbox'] as const,
          apis: [
            {
              name: 'sandbox',
              address: addresses.sandbox,
              key: html`the partner’s secret key, as <code>X-API-Key</code>`,
            },
          ],
        },
      ]
    : []),
]

const pages: readonly (readonly [file: GuideFile, title: string, about: string])[] = [
  [
    'docs/interface.md',
    'The interface',
    'What holds where the interface leaves a choice, with every rule and state, area by area.',
  ],
  ['docs/glossary.md', 'Glossary', 'Words that mean something particular here.'],
  ['docs/operating.md', 'Operating Kaha', 'For whoever runs Kaha: settings, processes, backup, metrics and alerts.'],
  ['docs/security.md', 'Security', 'What is guarded, how, and what is not yet.'],
]

/** The documents that the start page is about, by name. */
export const documentsOf = (addresses: Addresses, parts: Parts): readonly string[] =>
  servicesOf(addresses, parts).flatMap(({ apis }) => apis.map(({ name }) => name))

/** The start page of the documentation: what each service is for, where it answers, and where to read on. */
export const docsPage = (
  addresses: Addresses,
  parts: Parts,
  documents: ReadonlyMap<string, OpenApi>,
): HtmlText => html`<p>Every operation is described in an OpenAPI 3.1 document, for your code generator, your request tool, or your own eyes. The
client for TypeScript, <code>@kaha/sdk</code>, has them all; it comes with Kaha’s source, and is not on npm yet.</p>
<ol class="services">${servicesOf(addresses, parts).map(
  ({ title, about, guide, apis, more }) => html`<li>
<h2>${title}</h2>
<p>${about}</p>
${guide && lines([['Read', linkTo(...guide)]])}
${apis.map((api) => apiOf(api, documents.get(api.name)))}
${more}
</li>`,
)}</ol>
<h2>To read on</h2>
<dl class="pages">${pages.map(([file, title, about]) => html`<div><dt>${linkTo(file, title)}</dt><dd>${about}</dd></div>`)}</dl>`

const linkTo = (file: GuideFile, title: string, anchor?: string): HtmlText =>
  html`<a href="${guidePath(file)}${anchor === undefined ? '' : `#${anchor}`}">${title}</a>`

function apiOf({ name, address, key }: Api, document: OpenApi | undefined): HtmlText {
  const operations = Object.entries(document?.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary }]) => ({ method, path, summary })),
  )
  return html`${lines([
    ['Address', html`<code>${address}</code>`],
    ['Key', key],
    ['OpenAPI', html`<a href="/docs/openapi/${name}.json">${name}.json</a>`],
  ])}
<details><summary>${operations.length} operations</summary>
<ul>${operations.map(
    ({ method, path, summary }) =>
      html`<li><code>${method.toUpperCase()} ${path}</code><span class="hint">${summary}</span></li>`,
  )}</ul>
</details>`
}

const lines = (all: readonly (readonly [term: string, text: HtmlText])[]): HtmlText =>
  html`<dl>${all.map(([term, text]) => html`<div><dt>${term}</dt><dd>${text}</dd></div>`)}</dl>`
