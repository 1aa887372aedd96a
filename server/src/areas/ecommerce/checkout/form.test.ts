import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCard } from '../../../payments/card.ts'
import { problemOf, readPayForm } from './form.ts'

const now = new Date('2026-06-01T00:00:00Z')

test('a card number is read however it is grouped, also as texts that were set for print do it', () => {
  for (const gap of [' ', '-', '\u00a0', '\u202f', '\u2007', '\t', '\u2010', '\u2011', '\u2013'])
    assert.equal(
      readPayForm(new URLSearchParams({ number: `4242${gap}4242${gap}4242${gap}4242` })).card.number,
      '4242424242424242',
    )
})

test('digits are read in full width too, and a name as it was typed', () => {
  const sent = { number: '４２４２　４２４２ ４２４２ ４２４２', cvc: '１２３', name: 'Ma.ª O´Brien' }
  const { card } = readPayForm(new URLSearchParams(sent))
  assert.deepEqual([card.number, card.cvc, card.name], ['4242424242424242', '123', sent.name])
})

/** What a browser without scripts is told of an expiry. */
function saysOf(expiry: string): string | null {
  const form = readPayForm(new URLSearchParams({ number: '4242424242424242', expiry, cvc: '123' }))
  const parsed = parseCard(form.card, now)
  return 'refusal' in parsed ? problemOf(parsed, form, 'en').message : null
}

for (const expiry of ['04/31', '4 / 31', '0431', '04-2031', '04 31', '2031-04', '2031/04', '０４／３１'])
  test(`an expiry is read that is typed as ${expiry}`, () => assert.equal(saysOf(expiry), null))

for (const expiry of ['04.31', '2031-13', 'April 2031', '04/3', '13/31', '00/00'])
  test(`whoever typed ${expiry} as an expiry is told how it is written, not that it is missing`, () =>
    assert.equal(saysOf(expiry), 'Enter month and year, like 04 / 31.'))

test('an expiry that is left out is asked for, and one that is past is told', () => {
  assert.equal(saysOf(' '), 'Enter the expiry date.')
  assert.equal(saysOf('05/26'), null, 'the month ends in its last time zone')
  assert.equal(saysOf('04/26'), 'This card has expired. Use another one.')
})
