import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { assets, script, stylesheet } from './assets.ts'

test('an asset is named after its content, so that a browser may keep it for ever', () => {
  for (const asset of assets) {
    const digest = createHash('sha256').update(asset.bytes)
    assert.ok(asset.path.includes(digest.copy().digest('hex').slice(0, 16)))
    assert.equal(asset.integrity, `sha256-${digest.digest('base64')}`)
    assert.match(asset.headers['cache-control'] ?? '', /immutable/)
    assert.equal(asset.headers['content-type'], asset.contentType)
  }
})

test('a payer loads no comment of the source, and no indentation', () => {
  for (const asset of assets) assert.doesNotMatch(asset.bytes.toString(), /^(?:\s|\/\/|\/\*)/m, asset.path)
})

test('the style sheet and the script load nothing from elsewhere', () => {
  const addresses = stylesheet.bytes.toString().match(/url\(["']?[^)]{0,12}|@import/g) ?? []
  for (const address of addresses) assert.match(address, /^url\("data:image\//)
  assert.doesNotMatch(script.bytes.toString(), /https?:|import\b|innerHTML|eval\(/)
})

test('text and controls stand out from what they lie on, in light and dark (WCAG 2.2 AA)', () => {
  const css = stylesheet.bytes.toString()
  const [light, dark] = [...css.matchAll(/:root \{([^}]*)\}/g)].map((rule) => coloursOf(rule[1] ?? ''))
  const text: [string, string][] = [
    ['ink', 'sheet'],
    ['soft', 'sheet'],
    ['soft', 'page'],
    ['ink', 'field'],
    ['wrong', 'sheet'],
    ['wrong', 'wrong-wash'],
    ['ink', 'wrong-wash'],
    ['soft', 'wrong-wash'],
    ['on-action', 'action'],
    ['on-action', 'action-over'],
    ['lid-ink', 'lid'],
    ['lid-soft', 'lid'],
    ['on-coin', 'coin'],
  ]
  const shapes: [string, string][] = [
    ['edge', 'sheet'],
    ['action', 'sheet'],
    ['wrong', 'field'],
    ['coin', 'lid'],
  ]
  for (const colours of [light, { ...light, ...dark }]) {
    for (const [front, back] of text)
      assert.ok(contrast(colours?.[front], colours?.[back]) >= 4.5, `${front} on ${back}`)
    for (const [front, back] of shapes)
      assert.ok(contrast(colours?.[front], colours?.[back]) >= 3, `${front} on ${back}`)
  }
})

function coloursOf(rule: string): Record<string, string> {
  return Object.fromEntries(
    [...rule.matchAll(/--([a-z-]+): (#[0-9a-f]{3,6});/g)].map(([, name, colour]) => [name, colour]),
  )
}

/** The contrast ratio of two colours (WCAG 2.2, relative luminance). */
function contrast(front = '', back = ''): number {
  const [lighter = 0, darker = 0] = [luminance(front), luminance(back)].toSorted((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(colour: string): number {
  const digits = colour.length === 4 ? colour.slice(1).replace(/./g, '$&$&') : colour.slice(1)
  assert.match(digits, /^[0-9a-f]{6}$/)
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const share = Number.parseInt(digits.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
