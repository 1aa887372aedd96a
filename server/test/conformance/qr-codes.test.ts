import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { QrErrorCode } from '@kaha/contract'
import { readQrPh } from '@kaha/qrph'
import { qrPng } from '@kaha/qrph/image'
import { tokenKey } from '@kaha/qrph/token'
import { sealText } from '../../../qrph/test/sealed-text.ts'
import { sql } from '../sql.ts'
import { platform } from '../platform.ts'
import { assertQrRefused, newReference, qrAccount, qrPath } from './qr-account.ts'

// Area E: making codes, what is in them, and reading them.

const p = await platform({ after })
const own = qrAccount(p)
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const countCodes = async (): Promise<number> =>
  Number((await sql<{ count: bigint }>(p.kaha.db, 'select count(*) from qr.codes'))[0]?.count)

const codeIn = (text: string) => {
  const read = readQrPh(text)
  assert.ok('code' in read, JSON.stringify(read))
  return read.code
}

test('[E6.create.ok, X0.versions.prefix.qr] making a code is 200 with a Token of id, qrBody, qrText and expiresAt', async () => {
  assert.equal(qrPath.replace(new URL(`${p.url}/qr`).pathname, ''), '/v1/pay/qr')
  const answer = await own.create()
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(answer.json), ['Token'])
  assert.deepEqual(Object.keys(answer.plain), ['id', 'qrBody', 'qrText', 'expiresAt'])
  assert.match(answer.plain.id, uuid)
})

test('[E6.create.qr-body] qrBody is the Base64 of a PNG of qrText', async () => {
  const { qrBody, qrText } = await own.made()
  const png = Buffer.from(qrBody, 'base64')
  assert.equal(png.toString('base64'), qrBody)
  assert.deepEqual(png, qrPng(qrText))
})

test('[E6.create.expires, X0.time.format.qr] a code expires 15 minutes after it was made, to the millisecond', async () => {
  const { id, expiresAt } = await own.made()
  const { createdAt, expiresAt: again } = (await own.get(id)).plain
  assert.equal(again, expiresAt)
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 900_000)
  for (const time of [createdAt, expiresAt]) assert.match(time, instant)
})

const wrong: readonly (readonly [rule: string, field: string, code: QrErrorCode, values: readonly unknown[]])[] = [
  [
    'E6.create.activation-code',
    'activationCode',
    'INVALID_REQUEST',
    [
      '',
      'A9X4-B7P2-Q6Z8',
      'a9x4-b7p2-q6z8-m3l5',
      'A9X4B7P2Q6Z8M3L5',
      'A9X4-B7P2-Q6Z8-M3L5 ',
      'A9X4-B7P2-Q6Z8-M3LÑ',
      null,
      1,
      [],
    ],
  ],
  [
    'E6.errors.activation-code',
    'activationCode',
    'UNKNOWN_ACTIVATION_CODE',
    ['A9X4-B7P2-Q6Z8-M3L5', '0000-0000-0000-0000'],
  ],
  ['E6.create.currency', 'currency', 'INVALID_REQUEST', ['', 'php', 'PHP ', 'PESO', '608', null, 608]],
  ['E6.errors.currency', 'currency', 'UNSUPPORTED_CURRENCY', ['USD', 'EUR', 'JPY', 'XXX']],
  [
    'E6.create.amount',
    'amount',
    'INVALID_REQUEST',
    [
      '',
      '98',
      '98.0',
      '98.000',
      '.98',
      '98.',
      '098.00',
      '+98.00',
      '-98.00',
      '9.8e1',
      '1,000.00',
      ' 98.00',
      '98.00 ',
      '98,00',
      '९८.००',
      98,
      98.5,
      null,
      true,
    ],
  ],
  [
    'E6.errors.amount',
    'amount',
    'AMOUNT_OUT_OF_RANGE',
    [
      '0.00',
      '0.01',
      '0.99',
      '100000.00',
      '99999999.99',
      '999999999999.99',
      '1000000000000.00',
      `${'9'.repeat(400)}.00`,
    ],
  ],
  [
    'E6.create.reference-form',
    'merchantReferenceNumber',
    'INVALID_REQUEST',
    ['', 'a'.repeat(37), 'ORDER_1', 'ORDER 1', 'ORDER/1', 'ORDÉR', 'ORDER-1\n', 'a.b', null, 1, {}],
  ],
]
for (const [rule, field, code, values] of wrong) {
  test(`[${rule}] a ${field} that breaks its rule is refused with ${code}, as a Token, and makes no code`, async () => {
    const before = await countCodes()
    for (const value of values) assertQrRefused(await own.create({ [field]: value }), code)
    assert.equal(await countCodes(), before)
  })
}

test('[E6.errors.invalid-request] a field of the wrong form is told the form that is right', async () => {
  const told = {
    activationCode: 'must be four groups of four capital letters or digits, such as A9X4-B7P2-Q6Z8-M3L5',
    currency: 'must be three capital letters, such as PHP',
    amount: 'must be a text with two decimals, such as 98.00',
    merchantReferenceNumber: 'must be 1 to 36 letters, digits or hyphens',
  }
  for (const [field, form] of Object.entries(told))
    assert.equal((await own.create({ [field]: 'a.b' })).plain.error, `${field}: ${form}.`)
  assert.equal((await own.create({ amount: 98 })).plain.error, 'amount: must be a string.')
})

test('[X0.input.unknown-property.qr, E6.errors.invalid-request] a field that is missing or unknown is 422 with 20000002, and the error names it', async () => {
  for (const field of ['activationCode', 'currency', 'amount', 'merchantReferenceNumber']) {
    const answer = await own.create({ [field]: undefined })
    assertQrRefused(answer, 'INVALID_REQUEST')
    assert.ok(answer.plain.error.includes(field))
  }
  for (const field of ['unknown', 'Amount', 'constructor', '', 'Token', 'toString']) {
    const answer = await own.create({ [field]: 'x' })
    assertQrRefused(answer, 'INVALID_REQUEST')
    assert.ok(answer.plain.error.includes(field))
  }
  const raw = JSON.parse('{"__proto__":{"amount":"98.00"}}') as object
  assertQrRefused(await own.ask({ method: 'POST', path: qrPath, body: await own.seal(raw) }), 'INVALID_REQUEST')
})

test('[X0.input.exact, E6.errors.invalid-request] a field that stands twice in a Token is 422 with 20000002, so that no value of it is dropped in silence', async () => {
  const key = await tokenKey(p.merchant.encryption_key)
  const json = JSON.stringify(own.request())
  const ask = async (text: string) =>
    own.ask({ method: 'POST', path: qrPath, body: { Token: await sealText(key, text) } })
  for (const first of ['"amount":"1.00"', '"\\u0061mount":"98.00"', '"currency":"PHP"']) {
    const answer = await ask(`{${first},${json.slice(1)}`)
    assertQrRefused(answer, 'INVALID_REQUEST')
    assert.equal(answer.plain.error, 'The request has a key twice; send it once.')
  }
  assert.equal((await ask(json)).status, 200)
})

test('[E6.create.amount, E6.create.reference-form] the smallest and the largest amount, and references of 1 and of 36 characters, make codes', async () => {
  for (const amount of ['1.00', '1.01', '99999.98', '99999.99']) {
    const { id, qrText } = await own.made({ amount })
    assert.equal((await own.get(id)).plain.amount, amount)
    assert.equal(codeIn(qrText).amount, amount)
  }
  for (const reference of ['a', '7', '-', 'Az09-'.padEnd(36, 'x'), '0'.repeat(36)]) {
    const { id } = await own.made({ merchantReferenceNumber: reference })
    assert.equal((await own.find(reference)).plain.id, id)
  }
})

test('[E6.create.reference-unique, E6.errors.duplicate-reference] a reference that the account has used is declined for ever, in any branch, and case matters', async () => {
  const [, second] = p.merchant.branches
  const reference = newReference()
  const { id, qrText } = await own.made({ merchantReferenceNumber: reference })
  assertQrRefused(await own.create({ merchantReferenceNumber: reference }), 'DUPLICATE_REFERENCE')
  assertQrRefused(
    await own.create({ merchantReferenceNumber: reference, activationCode: second?.activation_code }),
    'DUPLICATE_REFERENCE',
  )
  await p.advance(901)
  assertQrRefused(await own.create({ merchantReferenceNumber: reference }), 'DUPLICATE_REFERENCE')
  assert.equal((await own.get(id)).plain.status, 'EXPIRED')
  assert.equal(codeIn(qrText).merchantId?.length, 25)
  await own.made({ merchantReferenceNumber: reference.toLowerCase() })
})

test('[E6.create.reference-unique] of ten requests at once with one reference one makes a code', async () => {
  const reference = newReference()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => own.create({ merchantReferenceNumber: reference })),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers) if (answer.status !== 200) assertQrRefused(answer, 'DUPLICATE_REFERENCE')
})

test('[E6.create.reference-declined] a creation that was declined uses up no reference', async () => {
  const merchantReferenceNumber = newReference()
  for (const fields of [
    { amount: '0.00' },
    { currency: 'USD' },
    { activationCode: 'A9X4-B7P2-Q6Z8-M3L5' },
    { unknown: 1 },
  ])
    assert.equal((await own.create({ merchantReferenceNumber, ...fields })).status, 422)
  await own.made({ merchantReferenceNumber })
})

test('[E6.read.by-id, E6.read.by-reference, E6.read.fields] a code is read by its id and by its reference, and both say the same', async () => {
  const reference = newReference()
  const { id } = await own.made({ merchantReferenceNumber: reference, amount: '1234.50' })
  const byId = await own.get(id)
  assert.equal(byId.status, 200)
  assert.deepEqual(Object.keys(byId.json), ['Token'])
  const { createdAt, expiresAt, ...rest } = byId.plain
  assert.deepEqual(rest, {
    id,
    status: 'PENDING',
    amount: '1234.50',
    currency: 'PHP',
    merchantReferenceNumber: reference,
  })
  assert.ok(createdAt < expiresAt)
  assert.deepEqual((await own.find(reference)).plain, byId.plain)
  assert.deepEqual((await own.get(id.toUpperCase())).plain, byId.plain)
})

test('[E6.errors.not-found, E6.errors.encrypted] an id or a reference that the account does not have is 404 with 20000004, as a Token', async () => {
  assertQrRefused(await own.get('01a1fcef-9ed7-78da-86e8-e01924f01831'), 'CODE_NOT_FOUND')
  assertQrRefused(await own.find('nobody-knows'), 'CODE_NOT_FOUND')
})

test('[E6.errors.invalid-request, X0.input.unknown-parameter.qr] an id or a query of the wrong form is 422 with 20000002, as a Token', async () => {
  const { id } = await own.made()
  for (const odd of ['x', '0', '%20', `${id}x`, `%7b${id}%7d`, `urn:uuid:${id}`, 'a'.repeat(500)])
    assertQrRefused(await own.get(odd), 'INVALID_REQUEST')
  for (const query of [
    '',
    '?',
    '?merchantReferenceNumber=',
    '?merchantReferenceNumber=a_b',
    '?merchantReferenceNumber=a&merchantReferenceNumber=a',
    '?merchantreferencenumber=a',
    '?merchantReferenceNumber=a&x=1',
    '?merchantReferenceNumber=%00',
  ])
    assertQrRefused(await own.ask({ path: `${qrPath}${query}` }), 'INVALID_REQUEST')
  assertQrRefused(await own.ask({ path: `${qrPath}/${id}?x=1` }), 'INVALID_REQUEST')
  for (const at of ['', '?merchantReferenceNumber=a_b', '/x', `/${id}?x=1`])
    assert.equal((await own.ask({ method: 'HEAD', path: `${qrPath}${at}` })).status, 422, `HEAD ${at}`)
})

test('[E6.text.merchant-account, E6.text.merchant-fields, E6.text.additional] the text says who is paid, how much, and which code it is', async () => {
  const { qrText } = await own.made({ amount: '98.00' })
  const { objects, merchantId, reference, ...code } = codeIn(qrText)
  assert.deepEqual(code, {
    pays: 'merchant',
    initiation: 'dynamic',
    acquirer: 'TESTPHM1XXX',
    creditAccount: null,
    notifyFlags: '010',
    mcc: '5999',
    currency: '608',
    amount: '98.00',
    country: 'PH',
    name: p.merchant.name,
    city: 'MANILA',
    terminal: p.branch.reference_number,
  })
  for (const label of [merchantId, reference]) assert.match(label ?? '', /^[0-9A-Z]{25}$/)
  assert.equal(objects.at(-1)?.id, '63')
})

test('[E6.text.merchant-fields, E6.text.lengths] a long name in any script is cut to 25 characters, and the text is read all the same', async () => {
  for (const name of [
    'Ñ'.repeat(40),
    'Kapihan ni Aling Nena at mga Anak, Incorporated',
    'कॉफ़ी की दुकान कॉफ़ी की दुकान',
    '☕'.repeat(30),
    'a\tb\u2028c',
    ' ',
  ]) {
    await sql(p.kaha.db, 'update identity.entities set name = $2 where id = $1', [p.merchant.id, name])
    const { qrText } = await own.made()
    const shown = codeIn(qrText).name
    assert.ok(Array.from(shown).length <= 25 && shown.length > 0)
  }
  await sql(p.kaha.db, 'update identity.entities set name = $2 where id = $1', [p.merchant.id, p.merchant.name])
})

test('[E6.text.bic, E6.text.tag-28-05] the BIC and tag 28-05 are settings', async (t) => {
  const other = await platform(t, { settings: { KAHA_QR_BIC: 'KAHAPHM1', KAHA_QR_TAG_28_05: '001' } })
  const { acquirer, notifyFlags } = codeIn((await qrAccount(other).made()).qrText)
  assert.deepEqual([acquirer, notifyFlags], ['KAHAPHM1', '001'])
})

test('[X0.addresses.own-host.qr] on a host name of its own the service answers without its prefix', async (t) => {
  const other = await platform(t, { settings: { KAHA_QR_URL: 'http://qr.test' } })
  const account = qrAccount(other)
  const headers = { host: 'qr.test' }
  assert.equal((await account.ask({ path: '/ping', headers })).text, 'Pong!')
  const made = await account.ask({
    method: 'POST',
    path: '/v1/pay/qr',
    headers,
    body: await account.seal(account.request()),
  })
  assert.equal(made.status, 200)
  assert.equal((await account.ask({ path: `/v1/pay/qr/${made.plain.id}`, headers })).plain.status, 'PENDING')
  assertQrRefused(await account.ask({ path: '/v1/none', headers }), 'NOT_FOUND')
})
