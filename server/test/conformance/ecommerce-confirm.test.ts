import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { confirmPaymentIntent } from '@kaha/contract'
import { issueKey } from '../../src/identity/issue.ts'
import { cardOf, cards, platform } from '../platform.ts'
import { call } from './call.ts'
import { everybody } from './people.ts'
import { bodyOf, hourMs, jump, refusal, rowsOf, shop, withoutWorker } from './shop.ts'

// Confirm: who may, with what card, how often, and what is checked first.
const p = await platform({ after }, withoutWorker)
const merchant = shop(p)

const newIntent = async (fields: object = {}, of = merchant) => bodyOf(await of.createIntent(fields), 201)
const attemptsOf = async (id: string): Promise<number> => {
  const [row] = await rowsOf<{ count: number }>(
    p,
    'select count(*)::int as count from payments.attempts where intent_id = $1',
    [id],
  )
  return row?.count ?? -1
}
const always = ['id', 'amount', 'currency', 'status', 'updated_at', 'payment_attempt_id']

test('[C4.confirm.ok, C4.confirm.secret-key] a confirm with a secret key pays, and answers with the intent as it is read afterwards', async () => {
  const { id } = await newIntent({ order_reference: 'ORDER-7' })
  const paid = bodyOf(await merchant.confirm(id), 200)
  assert.equal(paid.status, 'SUCCEEDED')
  assert.deepEqual(Object.keys(paid).toSorted(), [...always, 'order_reference', 'receipt', 'user_message'].toSorted())
  assert.deepEqual(bodyOf(await merchant.retrieveIntent(id), 200), paid)
})

test('C4.confirm.ok: a decline and a failure are answers as well, with the intent and why', async () => {
  for (const [card, status] of [
    [cards.declined, 'DECLINED'],
    [cards.error, 'FAILED'],
  ] as const) {
    const { id } = await newIntent()
    const confirmed = bodyOf(await merchant.confirm(id, card), 200)
    assert.equal(confirmed.status, status)
    assert.deepEqual(Object.keys(confirmed).toSorted(), [...always, 'failure_category', 'user_message'].toSorted())
    assert.deepEqual(bodyOf(await merchant.retrieveIntent(id), 200), confirmed)
  }
})

test('C4.confirm.client-secret: the client_secret of an intent pays it, without any key', async () => {
  const { id, client_secret } = await newIntent()
  const paid = bodyOf(await merchant.confirmAsPayer(id, client_secret), 200)
  assert.equal(paid.status, 'SUCCEEDED')
  const shouted = await newIntent()
  assert.equal(
    bodyOf(await merchant.confirmAsPayer(shouted.id.toUpperCase(), shouted.client_secret), 200).id,
    shouted.id,
  )
})

test('C4.confirm.pages: a browser is told that a page of any origin may confirm by client_secret, and reads refusals too; no key is let through', async () => {
  const { id, client_secret } = await newIntent()
  const path = `/ecom/v1/payment-intents/${id}`
  const origin = 'https://shop.example'
  const asked = (url: string) =>
    call(p.url, {
      method: 'OPTIONS',
      path: url,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-api-key',
      },
    })
  const { status, headers } = await asked(`${path}/confirm`)
  assert.deepEqual(
    [status, headers['access-control-allow-origin'], headers['access-control-allow-methods']],
    [204, '*', 'POST'],
  )
  assert.equal(headers['access-control-allow-headers'], 'content-type')
  assert.equal(headers['access-control-allow-credentials'], undefined)
  for (const secret of ['wrong', client_secret]) {
    const body = { client_secret: secret, payment_method: { type: 'card', card: cardOf(cards.approved) } }
    const answer = await call(p.url, { method: 'POST', path: `${path}/confirm`, headers: { origin }, body })
    assert.deepEqual(
      [answer.status, answer.headers['access-control-allow-origin']],
      [secret === client_secret ? 200 : 401, '*'],
    )
  }
  // Nothing else can be read by pages of others.
  const other = await asked(path)
  assert.deepEqual([other.status, other.headers['access-control-allow-origin']], [405, undefined])
  const read = await call(p.url, { method: 'GET', path, headers: { origin }, key: p.merchant.secret_key })
  assert.equal(read.headers['access-control-allow-origin'], undefined)
})

test('C4.confirm.client-secret-wrong: any other client_secret pays nothing, whoever sends it, and tells nothing', async () => {
  const { id, client_secret } = await newIntent()
  const other = await newIntent()
  const wrong = [
    other.client_secret,
    client_secret.slice(0, -1),
    `${client_secret}A`,
    client_secret.slice(0, 20) + other.client_secret.slice(20),
    client_secret.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A')),
    client_secret.toUpperCase(),
    client_secret.replace('cs_', ''),
    'cs_',
    p.merchant.secret_key,
  ]
  for (const secret of wrong) assert.equal(refusal(await merchant.confirmAsPayer(id, secret)), '401 UNAUTHORIZED')
  const body = (secret?: string) => ({
    ...(secret === undefined ? {} : { client_secret: secret }),
    payment_method: { type: 'card', card: cardOf() },
  })
  const keyless = await merchant.send(confirmPaymentIntent, { id, body: body() }, { key: null })
  assert.equal(refusal(keyless), '401 UNAUTHORIZED')
  const withKey = await merchant.send(confirmPaymentIntent, { id, body: body(other.client_secret) })
  assert.equal(refusal(withKey), '401 UNAUTHORIZED')
  // An intent that does not exist looks like one whose client_secret is not known.
  const unknown = await merchant.confirmAsPayer('01890000-0000-7000-8000-000000000000', client_secret)
  assert.equal(refusal(unknown), '401 UNAUTHORIZED')
  assert.equal(await attemptsOf(id), 0)
  // The control: the right one does pay.
  assert.equal(
    bodyOf(await merchant.send(confirmPaymentIntent, { id, body: body(client_secret) }), 200).status,
    'SUCCEEDED',
  )
})

test('C4.confirm.secret-key: the key of a neighbour, a stranger, or of an entity below another cannot pay an intent', async () => {
  const all = await everybody(p)
  const { id, client_secret } = await newIntent()
  const body = { client_secret, payment_method: { type: 'card', card: cardOf() } }
  for (const { key } of [
    all.otherBranch,
    all.otherMerchant,
    all.otherMerchantsBranch,
    all.otherPartner,
    all.otherPartnersBranch,
  ]) {
    assert.equal(refusal(await merchant.confirm(id, cards.approved, { key })), '404 NOT_FOUND')
    // Nor with the client_secret beside it: who sends a key acts as its entity.
    assert.equal(refusal(await merchant.send(confirmPaymentIntent, { id, body }, { key })), '404 NOT_FOUND')
  }
  assert.equal(await attemptsOf(id), 0)
  assert.equal(bodyOf(await merchant.confirm(id, cards.approved, { key: all.branch.key }), 200).status, 'SUCCEEDED')
})

test('C4.confirm.card: name may be left out, may be anything short, and nothing else belongs to a card', async () => {
  for (const extra of [{}, { name: 'Juana dela Cruz' }, { name: '' }, { name: 'ñ'.repeat(100) }])
    assert.equal(bodyOf(await merchant.confirm((await newIntent()).id, extra), 200).status, 'SUCCEEDED')
  const { id } = await newIntent()
  assert.equal(refusal(await merchant.confirm(id, { pin: '1234' })), '400 BAD_REQUEST payment_method.card.pin unknown')
  for (const field of ['number', 'exp_month', 'exp_year', 'cvc'])
    assert.equal(
      refusal(await merchant.confirm(id, { [field]: undefined })),
      `400 BAD_REQUEST payment_method.card.${field} required`,
    )
  assert.equal(await attemptsOf(id), 0)
})

const now = p.kaha.clock.now()
const month = (fromNow: number) => {
  const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + fromNow, 15))
  return { exp_month: day.getUTCMonth() + 1, exp_year: day.getUTCFullYear() }
}
const amex = '378282246310005'

type BadCard = readonly [
  rule: string,
  says: string,
  card: Record<string, string | number>,
  field: string,
  broken: string,
]
const badCards: readonly BadCard[] = [
  ['C4.confirm.card-digits', 'without a digit', { number: '' }, 'number', 'digits'],
  ['C4.confirm.card-digits', 'in groups', { number: '4242 4242 4242 4242' }, 'number', 'digits'],
  ['C4.confirm.card-digits', 'with hyphens', { number: '4242-4242-4242-4242' }, 'number', 'digits'],
  ['C4.confirm.card-digits', 'with a letter', { number: '424242424242424O' }, 'number', 'digits'],
  ['C4.confirm.card-digits', 'in wide digits', { number: '４２４２４２４２４２４２４２４２' }, 'number', 'digits'],
  ['C4.confirm.card-digits', 'too short for any card', { number: '42424242426' }, 'number', 'length'],
  ['C4.confirm.card-digits', 'one short for VISA', { number: '424242424242420' }, 'number', 'length'],
  ['C4.confirm.card-digits', 'one long for AMEX', { number: `${amex}0` }, 'number', 'length'],
  ['C4.confirm.card-digits', 'of 20 digits', { number: '42424242424242424242' }, 'number', 'length'],
  ['C4.confirm.card-digits', 'as a number', { number: 4242424242424242 }, 'number', 'type'],
  ['C4.confirm.card-luhn', 'with a wrong check digit', { number: '4242424242424241' }, 'number', 'luhn'],
  ['C4.confirm.card-luhn', 'with two digits swapped', { number: '4242424242422442' }, 'number', 'luhn'],
  ['C4.confirm.card-month', 'of month 0', { exp_month: 0 }, 'exp_month', 'month'],
  ['C4.confirm.card-month', 'of month 13', { exp_month: 13 }, 'exp_month', 'month'],
  ['C4.confirm.card-month', 'of a negative month', { exp_month: -1 }, 'exp_month', 'month'],
  ['C4.confirm.card-month', 'of half a month', { exp_month: 6.5 }, 'exp_month', 'type'],
  ['C4.confirm.card-month', 'of a month as text', { exp_month: '12' }, 'exp_month', 'type'],
  ['C4.confirm.card', 'of a year of two digits', { exp_year: 60 }, 'exp_year', 'four_digits'],
  ['C4.confirm.card', 'of a year of five digits', { exp_year: 20_600 }, 'exp_year', 'four_digits'],
  ['C4.confirm.card-expired', 'of two months ago', month(-2), 'exp_year', 'expired'],
  ['C4.confirm.card-expired', 'of last year', month(-12), 'exp_year', 'expired'],
  ['C4.confirm.card-expired', 'of the last century', { exp_year: 1999 }, 'exp_year', 'expired'],
  ['C4.confirm.card-cvc', 'with two digits behind', { cvc: '73' }, 'cvc', 'length'],
  ['C4.confirm.card-cvc', 'with four digits behind', { cvc: '7391' }, 'cvc', 'length'],
  ['C4.confirm.card-cvc', 'of AMEX with three digits', { number: amex, cvc: '739' }, 'cvc', 'length'],
  ['C4.confirm.card-cvc', 'with letters behind', { cvc: 'a73' }, 'cvc', 'digits'],
  ['C4.confirm.card-cvc', 'with nothing behind', { cvc: '' }, 'cvc', 'digits'],
]

for (const [rule, says, card, field, broken] of badCards) {
  test(`${rule}: a card ${says} is refused, makes no attempt, and is not repeated`, async () => {
    const { id, client_secret } = await newIntent()
    const before = bodyOf(await merchant.retrieveIntent(id), 200)
    p.logged.length = 0
    const answers = [await merchant.confirm(id, card), await merchant.confirmAsPayer(id, client_secret, card)]
    for (const answer of answers) {
      assert.equal(refusal(answer), `400 INVALID_CARD payment_method.card.${field} ${broken}`)
      const told = answer.text.replaceAll(answer.json.error.correlation_id, '')
      for (const value of Object.values(card).map(String))
        if (value.length >= 2) assert.ok(!told.includes(value), `the answer repeats ${value}`)
      const number = String(card['number'] ?? cards.approved)
      if (number.length >= 6) assert.ok(!p.logged.join().includes(number))
    }
    assert.deepEqual(bodyOf(await merchant.retrieveIntent(id), 200), before)
    assert.equal(await attemptsOf(id), 0)
  })
}

test('[C4.confirm.card-details, C4.confirm.card-no-attempt] a malformed card leaves an intent as it was, after a decline too, and takes none of its attempts', async () => {
  const { id } = await newIntent()
  const declined = bodyOf(await merchant.confirm(id, cards.declined), 200)
  for (let i = 0; i < 25; i++)
    assert.equal(
      refusal(await merchant.confirm(id, { number: '4242424242424241' })),
      '400 INVALID_CARD payment_method.card.number luhn',
    )
  assert.deepEqual(bodyOf(await merchant.retrieveIntent(id), 200), declined)
  assert.equal(await attemptsOf(id), 1)
  assert.equal(bodyOf(await merchant.confirm(id), 200).status, 'SUCCEEDED')
})

test('C4.confirm.card-details: a card number that stands where no field should is not repeated either', async () => {
  const { id } = await newIntent()
  const answer = await merchant.confirm(id, { [cards.approved]: true })
  assert.equal(answer.status, 400)
  assert.ok(!answer.text.includes(cards.approved))
})

test('C4.confirm.card-expired: a card is good through its month, by the clock of the platform', async (t) => {
  const one = await platform(t, withoutWorker)
  const own = shop(one)
  assert.equal(bodyOf(await own.confirm((await newIntent({}, own)).id, month(0)), 200).status, 'SUCCEEDED')
  await jump(one, 33 * 24 * hourMs)
  const { id } = await newIntent({}, own)
  const late = await own.confirm(id, month(0))
  assert.equal(refusal(late), '400 INVALID_CARD payment_method.card.exp_year expired')
  assert.match(JSON.stringify(late), /payment_method\.card\.exp_year: lies, with exp_month, in the past: the card/)
  assert.equal(bodyOf(await own.confirm(id, month(2)), 200).status, 'SUCCEEDED')
})

test('C4.confirm.card-cvc: AMEX has four digits, every other card three', async () => {
  for (const card of [
    { number: amex, cvc: '7391' },
    { number: '3566002020360505', cvc: '739' },
    { number: '6200000000000005', cvc: '000' },
  ])
    assert.equal(bodyOf(await merchant.confirm((await newIntent()).id, card), 200).status, 'SUCCEEDED')
})

test('C4.confirm.attempt-limit: the twentieth attempt may still pay, the twenty-first is refused', async () => {
  const [worn, lucky] = [await newIntent(), await newIntent()]
  const kinds = [cards.declined, cards.ineligible, cards.error]
  const attempts = async (id: string, howMany: number) => {
    const seen = new Set<string>()
    for (let i = 0; i < howMany; i++) {
      const { payment_attempt_id } = bodyOf(await merchant.confirm(id, kinds[i % kinds.length]), 200)
      seen.add(payment_attempt_id)
    }
    assert.equal(seen.size, howMany)
  }
  await attempts(worn.id, 20)
  await attempts(lucky.id, 19)
  assert.equal(bodyOf(await merchant.confirm(lucky.id), 200).status, 'SUCCEEDED')

  const before = bodyOf(await merchant.retrieveIntent(worn.id), 200)
  for (const card of [cards.approved, cards.ineligible])
    assert.equal(refusal(await merchant.confirm(worn.id, card)), '409 ATTEMPT_LIMIT_REACHED')
  assert.equal(refusal(await merchant.confirmAsPayer(worn.id, worn.client_secret)), '409 ATTEMPT_LIMIT_REACHED')
  assert.deepEqual(bodyOf(await merchant.retrieveIntent(worn.id), 200), before)
  assert.equal(await attemptsOf(worn.id), 20)
})

test('C4.confirm.attempt-limit: twenty-five cards at once make twenty attempts at most', async () => {
  const { id } = await newIntent()
  for (let round = 0; round < 4; round++)
    await Promise.all(Array.from({ length: 25 }, () => merchant.confirm(id, cards.ineligible)))
  assert.equal(await attemptsOf(id), 20)
  assert.equal(refusal(await merchant.confirm(id)), '409 ATTEMPT_LIMIT_REACHED')
})

test('C4.confirm.order: where several things are wrong the first check tells: client_secret, state, card, attempts, use, eligibility', async () => {
  const bad = { number: '4242424242424241' }
  const link = bodyOf(await merchant.createLink(), 201)
  const ofLink = () => newIntent({ payment_link_id: link.id })
  const [worn, fresh, holder] = [await ofLink(), await ofLink(), await ofLink()]
  for (let i = 0; i < 20; i++) bodyOf(await merchant.confirm(worn.id, cards.ineligible), 200)
  bodyOf(await merchant.confirm(holder.id, cards.noAnswer), 202)
  const paid = await newIntent()
  bodyOf(await merchant.confirm(paid.id), 200)

  // Each line has everything wrong that the next one has, and one thing more.
  assert.equal(refusal(await merchant.confirmAsPayer(paid.id, worn.client_secret, bad)), '401 UNAUTHORIZED')
  assert.equal(refusal(await merchant.confirmAsPayer(paid.id, paid.client_secret, bad)), '409 INVALID_STATE')
  assert.equal(refusal(await merchant.confirm(worn.id, bad)), '400 INVALID_CARD payment_method.card.number luhn')
  assert.equal(refusal(await merchant.confirm(worn.id, cards.ineligible)), '409 ATTEMPT_LIMIT_REACHED')
  assert.equal(refusal(await merchant.confirm(fresh.id, cards.ineligible)), '409 LINK_FULLY_RESERVED')
  const free = await newIntent()
  assert.equal(bodyOf(await merchant.confirm(free.id, cards.ineligible), 200).failure_category, 'CARD_NOT_ELIGIBLE')
})

test('C4.confirm.again: after declines and failures of every kind another card pays', async () => {
  const { id, client_secret } = await newIntent()
  const before = new Set<string>()
  for (const card of [
    cards.declined,
    cards.error,
    cards.unavailable,
    cards.ineligible,
    '4230000000000004',
    '4000000000003238',
  ]) {
    const { status, payment_attempt_id } = bodyOf(await merchant.confirmAsPayer(id, client_secret, card), 200)
    assert.match(status, /^(DECLINED|FAILED)$/)
    assert.ok(!before.has(payment_attempt_id))
    before.add(payment_attempt_id)
  }
  const paid = bodyOf(await merchant.confirmAsPayer(id, client_secret), 200)
  assert.equal(paid.status, 'SUCCEEDED')
  assert.ok(!('failure_category' in paid) && !before.has(paid.payment_attempt_id))
})

test('C4.confirm.ok: of many confirms of one intent at once one pays, and the others are told how it stands', async () => {
  for (const howMany of [2, 12]) {
    const { id } = await newIntent()
    const answers = await Promise.all(Array.from({ length: howMany }, () => merchant.confirm(id)))
    const paid = answers.filter(({ status }) => status === 200)
    assert.equal(paid.length, 1)
    for (const answer of answers.filter((one) => !paid.includes(one)))
      assert.match(refusal(answer), /^409 (INTENT_PROCESSING|INVALID_STATE)$/)
    assert.equal(await attemptsOf(id), 1)
  }
})

test('C4.confirm.rate-live: in live a client address has 30 confirms a minute by client_secret; a key and another address are not held up', async (t) => {
  const masterKey = randomBytes(32).toString('base64')
  let wall = Date.now()
  const live = await platform(t, {
    settings: {
      KAHA_MODE: 'live',
      KAHA_BASE_URL: 'https://pay.example.com',
      KAHA_MASTER_KEY: masterKey,
      KAHA_TRUST_PROXY: '127.0.0.0/8',
    },
    choices: { wall: () => wall },
  })
  const { kaha, merchant: owner } = live
  const { secretKey: key } = await issueKey(
    kaha.db,
    { keyring: kaha.keyring, keyPrefix: 'sk_live_' },
    { entityId: owner.id, level: 'merchant', scopes: ['payment_intents.create', 'payment_intents.confirm'] },
    kaha.clock.now(),
  )
  const own = shop({ ...live, merchant: { ...owner, secret_key: key } })
  const { id, client_secret } = await newIntent({}, own)
  const confirm = (address: string, secret = client_secret) =>
    own.send(
      confirmPaymentIntent,
      { id, body: { client_secret: secret, payment_method: { type: 'card', card: cardOf() } } },
      { key: null, headers: { 'x-forwarded-for': address } },
    )

  // Wrong guesses count like right ones: this is what the limit is for.
  for (let i = 0; i < 30; i++)
    assert.equal((await confirm('203.0.113.7', i === 0 ? client_secret : 'cs_guess')).status, i === 0 ? 200 : 401)
  const refused = await confirm('203.0.113.7')
  assert.equal(refusal(refused), '429 RATE_LIMITED')
  assert.equal(refused.headers['retry-after'], '2')
  assert.equal((await confirm('203.0.113.8')).status, 200)
  assert.equal((await own.confirm(id, cards.approved, { headers: { 'x-forwarded-for': '203.0.113.7' } })).status, 200)

  wall += 2_000
  assert.equal((await confirm('203.0.113.7')).status, 200)
  assert.equal((await confirm('203.0.113.7')).status, 429)
})

test('C4.confirm.rate-setting: how many confirms an address has is a setting, and a sandbox has no limit unless it is set', async (t) => {
  const wall = Date.now()
  const limited = await platform(t, { settings: { KAHA_CONFIRM_LIMIT: '2' }, choices: { wall: () => wall } })
  const strict = shop(limited)
  const { id, client_secret } = await newIntent({}, strict)
  for (const status of [200, 200, 429])
    assert.equal((await strict.confirmAsPayer(id, client_secret, cards.declined)).status, status)

  const open = await newIntent()
  for (let i = 0; i < 40; i++) assert.notEqual((await merchant.confirmAsPayer(open.id, 'cs_guess')).status, 429)
})
