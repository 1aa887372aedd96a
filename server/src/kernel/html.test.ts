import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { attributes, html, htmlString, raw } from './html.ts'

test('a hostile name is shown as the text that it is', () => {
  const name = `<script>alert('1')</script> & "Sons"`
  assert.equal(
    htmlString(html`<p>${name}</p>`),
    '<p>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;Sons&quot;</p>',
  )
})

test('a value cannot leave the double quotes of its attribute', () => {
  const value = `" onmouseover="alert(1)`
  const expected = '<a title="&quot; onmouseover=&quot;alert(1)">x</a>'
  assert.equal(htmlString(html`<a title="${value}">x</a>`), expected)
  assert.equal(htmlString(html`<a${attributes({ title: value })}>x</a>`), expected)
})

test('whatever text comes in, what a reader of the page gets back is that text, and no tag is added', () => {
  const decoded: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  const read = (shown = '') => shown.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => decoded[name] ?? '')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const page = htmlString(html`<b title="${text}">${text}</b>`)
      const [, title, inner] = /^<b title="([^"<>]*)">([^"<>]*)<\/b>$/s.exec(page) ?? []
      assert.equal(read(title), text)
      assert.equal(read(inner), text)
    }),
  )
})

test('nested markup and lists of it pass as they are, and nothing else does', () => {
  const items = ['a', '<b>'].map((item) => html`<li>${item}</li>`)
  assert.equal(htmlString(html`<ul>${items}</ul>`), '<ul><li>a</li><li>&lt;b&gt;</li></ul>')
  assert.equal(htmlString(html`<p>${['<', [1, 2n]]}</p>`), '<p>&lt;12</p>')
  assert.equal(htmlString(html`${raw('<svg></svg>')}`), '<svg></svg>')
})

test('null, undefined and false render nothing, zero renders zero', () => {
  assert.equal(htmlString(html`<p>${null}${undefined}${false}${0}${''}</p>`), '<p>0</p>')
})

test('something that only looks like markup is refused', () => {
  const forged: string = JSON.parse('{"markup":"<b>","Symbol(markup)":"<b>"}')
  assert.throws(() => html`<p>${forged}</p>`, TypeError)
  // @ts-expect-error a caller without types
  assert.throws(() => html`<p>${true}</p>`, TypeError)
})

test('attributes are left out, bare or quoted by their value', () => {
  const values = { id: 'n', required: true, disabled: false, title: null, lang: undefined, size: 2 }
  assert.equal(htmlString(html`<input${attributes(values)}>`), '<input id="n" required size="2">')
})

test('an attribute that could carry a script or a style, or break the tag, is refused', () => {
  for (const name of ['onclick', 'style', 'a b', 'a"', 'a>', 'a=', '', 'A']) {
    assert.throws(() => attributes({ [name]: 'x' }), TypeError, name)
  }
})

test('a hole where escaping cannot help is refused', () => {
  const x = 'x'
  assert.throws(() => html`<a href=${x}>a</a>`, /double quotes/)
  assert.throws(() => html`<a href='${x}'>a</a>`, /double quotes/)
  assert.throws(() => html`<${x}>a`, /tag's name/)
  assert.throws(() => html`a</${x}>`, /inside a tag/)
  assert.throws(() => html`<a ${x}>a</a>`, /only attributes/)
  assert.throws(() => html`<script>${x}</script>`, /script/)
  assert.throws(() => html`<style>p { color: ${x} }</style>`, /style/)
  assert.throws(() => html`<!-- ${x} -->`, /comment/)
  assert.throws(() => html`<a title="${html`<b>x</b>`}">a</a>`, /attribute value/)
  assert.throws(() => html`<p>${attributes({ id: x })}</p>`, /inside a tag/)
})

test('a comparison in text is no tag, and a script from a file is allowed', () => {
  assert.equal(htmlString(html`<p>1 < 2, ${'x'} = ${'y'}</p>`), '<p>1 < 2, x = y</p>')
  assert.equal(htmlString(html`<script src="${'/a.js'}" defer></script>`), '<script src="/a.js" defer></script>')
})
