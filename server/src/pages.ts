import { posix } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Addresses } from './addresses.ts'
import { openApiAt, readOpenApi, readSockets, socketsAt } from './api-documents.ts'
import { icon } from './areas/ecommerce/checkout/assets.ts'
import { kahaMark } from './areas/ecommerce/checkout/marks.ts'
import { docsPage, documentsOf, type Parts } from './docs-page.ts'
import { guideFiles, guidePath, readGuide, type Guide } from './guides.ts'
import { html, htmlString, type HtmlPart, type HtmlText } from './kernel/html.ts'
import { readStylesheet, serveAsset } from './kernel/http/asset.ts'
import { pageHeaders } from './kernel/http/page-headers.ts'

const json = 'application/json; charset=utf-8'

// The same house as the payer's pages.
const stylesheet = readStylesheet(import.meta.url, 'pages.css', ['areas/ecommerce/checkout/checkout.css', 'pages.css'])

/** The plain pages around the APIs: what answers here, the start page of the documentation with its documents and guides, and the place of the dashboard. */
export function mountPages(app: FastifyInstance, addresses: Addresses, parts: Parts): void {
  const { sandbox } = parts
  const page = (title: string, about: HtmlPart, body: HtmlText, home = ''): string =>
    htmlString(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${sandbox ? '#f6bd4a' : '#0c3d33'}">
<link rel="icon" href="${icon.path}" type="image/svg+xml">
<link rel="stylesheet" href="${stylesheet.path}" integrity="${stylesheet.integrity}">
</head>
<body>
${sandbox && html`<header class="ribbon">Sandbox: no real money</header>`}
<main class="box">
<div class="lid"><h1>${title}</h1><p>${about}</p></div>
<div class="sheet">${body}</div>
</main>
<footer class="foot"><p class="maker">${kahaMark(24)}<a href="${home}/">Kaha</a></p></footer>
</body>
</html>
`)
  const show = (path: string, operationId: string, made: () => string | Promise<string>) =>
    app.get(path, { config: { operationId } }, async (_request, reply) =>
      reply.headers(pageHeaders()).send(await made()),
    )
  // Whoever writes a slash behind a page's address is led to that; by a relative one, for the name and the prefix may be a proxy's.
  const showAt = (path: string, operationId: string, made: () => string | Promise<string>) => {
    show(path, operationId, made)
    app.get(`${path}/`, { config: { operationId } }, async (_request, reply) =>
      reply
        .code(308)
        .headers(pageHeaders())
        .header('location', `../${posix.basename(path)}`)
        .send(),
    )
  }
  const offer = (path: string, operationId: string, made: () => unknown) =>
    app.get(path, { config: { operationId } }, async (_request, reply) =>
      reply.type(json).send(`${JSON.stringify(made(), null, 2)}\n`),
    )

  show('/', 'home', () =>
    page(
      'Kaha',
      'A payment platform that you run yourself',
      html`<p>The merchant APIs answer at <code>${addresses.base}</code>.</p>
<ul><li><a href="/docs">Documentation</a></li><li><a href="${addresses.dashboard}">Dashboard</a></li>${sandbox && html`<li><a href="${addresses.sandbox}/bank">Bank app of the sandbox</a></li>`}</ul>`,
    ),
  )
  showAt('/dashboard', 'dashboard', () =>
    page(
      'Dashboard',
      'It has not moved in yet',
      html`<p>What it will show is in the APIs: <a href="${addresses.base}/docs">documentation</a>.</p>`,
      addresses.base,
    ),
  )

  const documents = new Map(documentsOf(addresses, parts).map((name) => [name, readOpenApi(name)]))
  showAt('/docs', 'docs', () =>
    page(
      'Documentation',
      `What answers at ${addresses.base}, and what it is for`,
      docsPage(addresses, parts, documents),
    ),
  )
  const guidePage = ({ title, body }: Guide) => page(title, html`<a href="/docs">Documentation</a>`, body)
  for (const file of guideFiles) {
    let made: string | undefined
    showAt(guidePath(file), 'guide', async () => (made ??= guidePage(await readGuide(file))))
  }
  for (const [name, document] of documents)
    offer(`/docs/openapi/${name}.json`, 'openapi', () => openApiAt(addresses, document))
  const sockets = readSockets()
  offer('/docs/asyncapi/terminals.json', 'asyncapi', () => socketsAt(addresses, sockets))
  serveAsset(app, stylesheet, 'pages.asset', ['', '/dashboard'])
  // The icon is the checkout's elsewhere.
  serveAsset(app, icon, 'pages.asset', ['/dashboard'])
}
