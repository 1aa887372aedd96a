import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Addresses } from './addresses.ts'
import { html, htmlString, type HtmlText } from './kernel/html.ts'

const documentsFolder = join(import.meta.dirname, '../../contract/openapi')
const socketsDocument = join(import.meta.dirname, '../../contract/asyncapi/terminals.json')
const documentsOf = (sandbox: boolean): readonly string[] => [
  'webhooks',
  'reporting',
  'ecommerce',
  'terminals',
  'qr',
  'qr_webhooks',
  ...(sandbox ? ['sandbox'] : []),
]

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const page = (title: string, body: HtmlText): string =>
  htmlString(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`)

/** The plain pages around the APIs: what answers here, the API documents, and the place of the dashboard. */
export function mountPages(app: FastifyInstance, addresses: Addresses, sandbox: boolean): void {
  const documents = documentsOf(sandbox)
  app.get('/', { config: { operationId: 'home' } }, async (_request, reply) =>
    reply.headers(headers).send(
      page(
        'Kaha',
        html`<p>A payment platform that you run yourself. The merchant APIs answer at ${addresses.base}.</p>
<ul><li><a href="/docs">API documents</a></li><li><a href="${addresses.dashboard}">Dashboard</a></li>${sandbox && html`<li><a href="${addresses.sandbox}/bank">Bank app of the sandbox</a></li>`}</ul>`,
      ),
    ),
  )
  app.get('/dashboard', { config: { operationId: 'dashboard' } }, async (_request, reply) =>
    reply
      .headers(headers)
      .send(
        page(
          'Dashboard',
          html`<p>The dashboard has not moved in yet. What it will show is in the APIs: <a href="/docs">API documents</a>.</p>`,
        ),
      ),
  )
  app.get('/docs', { config: { operationId: 'docs' } }, async (_request, reply) =>
    reply.headers(headers).send(
      page(
        'API documents',
        html`<p>OpenAPI 3.1, one document for each area.</p>
<ul>${documents.map((name) => html`<li><a href="/docs/openapi/${name}.json">${name}.json</a></li>`)}</ul>
<p>AsyncAPI 3, for the sockets of terminals and tills.</p>
<ul><li><a href="/docs/asyncapi/terminals.json">terminals.json</a></li></ul>`,
      ),
    ),
  )
  for (const name of documents) {
    const text = readFileSync(join(documentsFolder, `${name}.json`), 'utf8')
    app.get(`/docs/openapi/${name}.json`, { config: { operationId: 'openapi' } }, async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(text),
    )
  }
  const sockets = readFileSync(socketsDocument, 'utf8')
  app.get('/docs/asyncapi/terminals.json', { config: { operationId: 'asyncapi' } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(sockets),
  )
}
