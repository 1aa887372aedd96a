import { readAsset, readStylesheet, type Asset } from '../../../kernel/http/asset.ts'

export const stylesheet = readStylesheet(import.meta.url, 'checkout.css', [
  'checkout.css',
  'items.css',
  'pay-page.css',
  'result-page.css',
])
export const script = readAsset(import.meta.url, 'checkout.js', 'text/javascript; charset=utf-8')
export const icon = readAsset(import.meta.url, 'icon.svg', 'image/svg+xml')

/** All of them, for the routes that serve them. */
export const assets: readonly Asset[] = [stylesheet, script, icon]
