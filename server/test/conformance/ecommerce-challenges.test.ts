import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cards, platform } from '../platform.ts'
import { bodyOf, refusal, rowsOf, shop } from './shop.ts'

// Challenges, as the merchant who confirms and the payer's browser see them. The payer is a browser without scripts.
const p = await platform({ after })
const merchant = shop(p)

const challengeCards = ['4000002500003155', '4000000000003220']
const challengeThenDecline = '4000008400001629'

interface Challenge {
  readonly id: string
  readonly url: string
  readonly attemptId: string
  /** The payer's page of the intent. */
  readonly page: string
}

/** An intent that waits for a challenge. */
async function challenged(card: string = cards.challenge, fields: object = {}): Promise<Challenge> {
  const { id, checkout_url: page } = bodyOf(await merchant.createIntent(fields), 201)
  const confirmed = bodyOf(await merchant.confirm(id, card), 200)
  assert.equal(confirmed.status, 'REQUIRES_ACTION')
  assert.equal(confirmed.next_action.type, 'redirect')
  return { id, url: confirmed.next_action.url, attemptId: confirmed.payment_attempt_id, page }
}

const visit = (url: string) => fetch(url, { redirect: 'manual' })

/** What the payer's browser does: it posts the answer, and follows the way back to the page that tells how it went. */
async function answer(challenge: Challenge, result: string): Promise<{ wayBack: string; told: string; url: string }> {
  const posted = await fetch(challenge.url, {
    method: 'POST',
    body: new URLSearchParams({ result }),
    redirect: 'manual',
  })
  assert.equal(posted.status, 303)
  const wayBack = posted.headers.get('location') ?? ''
  const shown = await fetch(wayBack)
  return { wayBack, told: await shown.text(), url: shown.url }
}

const read = async (id: string) => bodyOf(await merchant.retrieveIntent(id), 200)
const outcomeOf = async (id: string) => {
  const { status, failure_category } = await read(id)
  return [status, failure_category]
}
const reachedProcessor = async ({ attemptId }: Challenge): Promise<boolean> =>
  (await rowsOf(p, 'select from sandbox.authorizations where attempt_id = $1', [attemptId])).length > 0
const eventsOf = async (id: string): Promise<string[]> => {
  const rows = await rowsOf<{ type: string }>(
    p,
    'select type from delivery.events where payment_intent_id = $1 order by id',
    [id],
  )
  return rows.map(({ type }) => type)
}

test('[C4.challenge.next-action, C4.challenge.retrieve, C4.machine.open.challenge, S7.cards.challenge] the answer to a confirm that needs a challenge says where to send the payer, and no later read does', async () => {
  for (const card of [...challengeCards, challengeThenDecline]) {
    const { id, url } = await challenged(card)
    assert.equal((await visit(url)).status, 200)
    const again = await read(id)
    assert.equal(again.status, 'REQUIRES_ACTION')
    assert.equal('next_action' in again, false)
    assert.equal(refusal(await merchant.confirm(id, cards.approved)), '409 INVALID_STATE')
  }
  // The control: what needs no challenge has no next action.
  const { id } = bodyOf(await merchant.createIntent(), 201)
  assert.equal('next_action' in bodyOf(await merchant.confirm(id, cards.declined), 200), false)
  const { client_secret, ...waiting } = bodyOf(await merchant.createIntent(), 201)
  const asPayer = bodyOf(await merchant.confirmAsPayer(waiting.id, client_secret, cards.challenge), 200)
  assert.equal((await visit(asPayer.next_action.url)).status, 200)
})

test('two challenges have two addresses, and one that nobody was given leads nowhere', async () => {
  const [one, other] = [await challenged(), await challenged()]
  assert.notEqual(one.url, other.url)
  const stem = one.url.slice(0, one.url.lastIndexOf('/'))
  for (const wrong of [one.attemptId, 'AAAAAAAAAAAAAAAAAAAAAA', `${one.url.split('/').at(-1)}A`, '%00', '']) {
    const answered = await visit(`${stem}/${wrong}`)
    assert.equal(answered.status, 404)
    assert.match(answered.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  }
  for (const body of ['', 'result=', 'result=SUCCEEDED', 'result=approved']) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await fetch(one.url, { method: 'POST', body, headers, redirect: 'manual' })).status, 400)
  }
  assert.equal((await read(one.id)).status, 'REQUIRES_ACTION')
})

for (const [rule, result, outcome] of [
  ['C4.machine.requires-action.passed', 'passed', ['SUCCEEDED', undefined]],
  ['C4.machine.requires-action.refused', 'refused', ['DECLINED', 'VERIFICATION_REJECTED']],
  ['C4.machine.requires-action.down', 'unavailable', ['FAILED', 'VERIFICATION_UNAVAILABLE']],
] as const) {
  test(`${rule}: a challenge that the payer finds ${result} makes the payment ${outcome[0]}, and its page tells it`, async () => {
    for (const card of challengeCards) {
      const challenge = await challenged(card)
      const { url, told } = await answer(challenge, result)
      assert.equal(url, challenge.page)
      assert.deepEqual(await outcomeOf(challenge.id), outcome)
      assert.match(told, result === 'passed' ? /data-outcome="succeeded"/ : /data-outcome="open"[^]*not been charged/)
      assert.equal(await reachedProcessor(challenge), result === 'passed')
      await p.idle()
      assert.deepEqual(await eventsOf(challenge.id), [`payment.${outcome[0].toLowerCase()}`])
      const again = await merchant.confirm(challenge.id, cards.approved)
      assert.equal(again.status, result === 'passed' ? 409 : 200)
    }
  })
}

test('S7.cards.challenge-decline: this card passes its challenge and is then refused by its issuer', async () => {
  const challenge = await challenged(challengeThenDecline)
  await answer(challenge, 'passed')
  assert.deepEqual(await outcomeOf(challenge.id), ['DECLINED', 'PAYMENT_REJECTED'])
})

for (const [rule, card, outcome] of [
  ['S7.cards.challenge-refused', '4230000000000004', ['DECLINED', 'VERIFICATION_REJECTED']],
  ['S7.cards.challenge-down', '4000000000003238', ['FAILED', 'VERIFICATION_UNAVAILABLE']],
] as const) {
  test(`${rule}: ${card} is ${outcome.join(', ')} at once, and nobody is sent anywhere`, async () => {
    const { id } = bodyOf(await merchant.createIntent(), 201)
    const confirmed = bodyOf(await merchant.confirm(id, card), 200)
    assert.deepEqual([confirmed.status, confirmed.failure_category], outcome)
    assert.equal('next_action' in confirmed, false)
  })
}

test('a payer who leaves the challenge is told where to go on, and can', async () => {
  const challenge = await challenged()
  const left = await fetch(`${challenge.page}/challenge/${challenge.attemptId}`)
  assert.equal(left.url, challenge.page)
  const page = await left.text()
  assert.match(page, /data-outcome="challenge"/)
  assert.ok(page.includes(`href="${challenge.url}"`))
  assert.equal((await read(challenge.id)).status, 'REQUIRES_ACTION')
  // An answer whose way back was never taken is found on the next visit, in the language of the payer.
  await fetch(challenge.url, { method: 'POST', body: new URLSearchParams({ result: 'passed' }), redirect: 'manual' })
  const found = await fetch(`${challenge.page}?lang=fil`)
  assert.equal(found.url, `${challenge.page}?lang=fil`)
  assert.match(await found.text(), /lang="fil"[^]*data-outcome="succeeded"/)
})

test('C4.machine.any.challenge-late: a result that comes twice, from many windows at once, or for another attempt changes nothing, and charges once', async () => {
  const link = bodyOf(await merchant.createLink({ type: 'multi_use', max_uses: 5 }), 201)
  const challenge = await challenged(cards.challenge, { payment_link_id: link.id })
  const other = await challenged()
  await fetch(challenge.url, { method: 'POST', body: new URLSearchParams({ result: 'passed' }), redirect: 'manual' })
  const wayBack = `${challenge.page}/challenge/${challenge.attemptId}`
  for (const wrong of [
    `${challenge.page}/challenge/${other.attemptId}`,
    `${other.page}/challenge/${challenge.attemptId}`,
  ])
    assert.equal((await visit(wrong)).status, 303)
  assert.equal((await visit(`${challenge.page}/challenge/1`)).status, 404)
  assert.equal(await reachedProcessor(challenge), false)

  const backs = await Promise.all(Array.from({ length: 8 }, () => visit(wayBack)))
  for (const back of backs) assert.deepEqual([back.status, back.headers.get('location')], [303, challenge.page])
  const paid = await read(challenge.id)
  assert.equal(paid.status, 'SUCCEEDED')
  await answer(challenge, 'refused')
  assert.deepEqual(await read(challenge.id), paid)
  assert.equal(bodyOf(await merchant.retrieveLink(link.id), 200).successful_payment_count, 1)
  await p.idle()
  assert.deepEqual(await eventsOf(challenge.id), ['payment.succeeded'])
  assert.equal((await read(other.id)).status, 'REQUIRES_ACTION')
})

test('[C4.machine.requires-action.abandoned, C4.machine.any.challenge-late] a challenge that is left alone for 15 minutes is declined, and what the payer says afterwards is too late', async () => {
  const challenge = await challenged()
  await p.advance(14 * 60)
  assert.equal((await read(challenge.id)).status, 'REQUIRES_ACTION')
  assert.equal((await visit(challenge.url)).status, 200)
  await p.advance(60)
  const declined = await read(challenge.id)
  assert.deepEqual([declined.status, declined.failure_category], ['DECLINED', 'VERIFICATION_REJECTED'])
  // The bank asks no more, and leads back to what became of it; who has its page open may still answer.
  const { status, headers } = await visit(challenge.url)
  const { wayBack } = await answer(challenge, 'passed')
  assert.deepEqual([status, headers.get('location')], [303, wayBack])
  assert.deepEqual(await read(challenge.id), declined)
  assert.equal(await reachedProcessor(challenge), false)
  assert.deepEqual(await eventsOf(challenge.id), ['payment.declined'])
})

test('[C4.machine.waiting.expires, C4.machine.waiting.link-consumed, C4.machine.any.challenge-late] a challenge that is passed when its intent has ended changes nothing, and the payer is told of the end', async () => {
  const expires_at = new Date(p.kaha.clock.now().getTime() + 5 * 60_000).toISOString()
  const expired = await challenged(cards.challenge, { expires_at })
  const link = bodyOf(await merchant.createLink(), 201)
  const consumed = await challenged(cards.challenge, { payment_link_id: link.id })
  const winner = bodyOf(await merchant.createIntent({ payment_link_id: link.id }), 201)
  assert.equal(bodyOf(await merchant.confirm(winner.id), 200).status, 'SUCCEEDED')
  await p.advance(5 * 60)

  for (const [challenge, status, page] of [
    [expired, 'EXPIRED', 'expired'],
    [consumed, 'CONSUMED', 'used_up'],
  ] as const) {
    const { told } = await answer(challenge, 'passed')
    assert.ok(told.includes(`data-outcome="${page}"`))
    assert.equal((await read(challenge.id)).status, status)
    assert.equal(await reachedProcessor(challenge), false)
    const [attempt] = await rowsOf<{ state: string }>(p, 'select state from payments.attempts where id = $1', [
      challenge.attemptId,
    ])
    assert.equal(attempt?.state, 'ABANDONED')
  }
})

test('[C4.machine.requires-action.passed-full, C4.challenge.full-told] a payer who passed the challenge while others pay with the last use is told so, is not charged, and can try again', async (t) => {
  const one = await platform(t, { choices: { confirmWaitMsMax: 50 }, settings: { KAHA_ROLES: 'api' } })
  const own = shop(one)
  const link = bodyOf(await own.createLink(), 201)
  const [first, second] = [
    bodyOf(await own.createIntent({ payment_link_id: link.id }), 201),
    bodyOf(await own.createIntent({ payment_link_id: link.id }), 201),
  ]
  const { next_action, payment_attempt_id } = bodyOf(await own.confirm(first.id, cards.challenge), 200)
  bodyOf(await own.confirm(second.id, '4000000000006728'), 202)
  const challenge = { id: first.id, url: next_action.url, attemptId: payment_attempt_id, page: first.checkout_url }
  const { told, wayBack } = await answer(challenge, 'passed')
  assert.match(
    told,
    /data-outcome="fully_reserved"[^]*Someone is paying with this link right now\..*If not, you have not been charged/,
  )
  const shown = bodyOf(await own.retrieveIntent(first.id), 200)
  assert.deepEqual([shown.status, 'user_message' in shown, 'failure_category' in shown], ['ACTIVE', false, false])
  assert.deepEqual(await rowsOf(one, 'select state from payments.attempts where intent_id = $1', [first.id]), [
    { state: 'ABANDONED' },
  ])
  await fetch(wayBack)
  assert.deepEqual(bodyOf(await own.retrieveIntent(first.id), 200), shown)

  // The other payment fails, and the use is free again.
  await one.another({ KAHA_ROLES: 'worker' })
  await one.kaha.sandboxClock.advanceBy(5_000)
  assert.equal(bodyOf(await own.retrieveIntent(second.id), 200).status, 'FAILED')
  const again = await (await fetch(`${first.checkout_url}?full=1`)).text()
  assert.match(again, /data-outcome="open"[^]*You can try again now[^]*Another payment with this link was under way/)
  assert.equal(bodyOf(await own.confirm(first.id), 200).status, 'SUCCEEDED')
})
