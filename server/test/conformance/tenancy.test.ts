import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { scopes, scopesOf, type Operation } from '@kaha/contract'
import { statement } from '../../src/kernel/db.ts'
import { cardOf, cards, platform } from '../platform.ts'
import { assertRefused, call, type Call } from './call.ts'
import { operations, rightCall, spare, type Subjects } from './operations.ts'
import { qrAccount } from './qr-account.ts'
import { everybody, idempotent, keyFor, linkFor, sees, type BranchTenant, type Tenant } from './people.ts'

// Every operation, by everybody, on what belongs to everybody.

const p = await platform({ after })
const people = await everybody(p)
const everyone: readonly Tenant[] = Object.values(people)
const branches: readonly BranchTenant[] = [
  people.branch,
  people.otherBranch,
  people.otherMerchantsBranch,
  people.otherPartnersBranch,
]
const ask = (request: Call) => call(p.url, request)
const names = new Map(Object.entries(people).map(([name, { id }]) => [id, name]))
const pair = (caller: Tenant, owner: Tenant): string => `${names.get(caller.id)} on what ${names.get(owner.id)} has`

/** Who has what: an endpoint each, and for branches a link, an intent, and a payment with its event. */
const endpoints = new Map<Tenant, string>()
const links = new Map<BranchTenant, string>()
const intents = new Map<BranchTenant, string>()
const payments = new Map<BranchTenant, string>()
const refunds = new Map<BranchTenant, string>()
for (const owner of everyone) {
  const body = { url: 'https://shop.example.com/hook', enabled_events: ['payment.expired'] }
  const made = await ask({ method: 'POST', path: '/v1/webhook_endpoints', key: owner.key, body })
  assert.equal(made.status, 201, made.text)
  endpoints.set(owner, made.json.id)
}
for (const owner of branches) {
  const sdk = p.as(owner.key)
  links.set(owner, (await sdk.paymentLinks.create(linkFor(owner.reference))).id)
  const paid = await sdk.paymentIntents.create({ amount: 9800, currency: 'PHP' })
  await sdk.paymentIntents.confirm(paid.id, { payment_method: { type: 'card', card: cardOf() } })
  payments.set(owner, paid.id)
  refunds.set(owner, (await sdk.refunds.create({ payment_intent_id: paid.id, amount: 1 })).id)
  intents.set(owner, (await sdk.paymentIntents.create({ amount: 9800, currency: 'PHP' })).id)
}
await p.idle()
const events = new Map<BranchTenant, string>()
for (const owner of branches) {
  const { data } = await p.as(owner.key).webhooks.listEvents()
  events.set(owner, data[0]?.id ?? '')
}

const transactions = new Map<BranchTenant, string>()
for (const owner of branches) {
  const { data } = await p.as(owner.key).reports.listTransactions()
  transactions.set(owner, data[0]?.id ?? '')
}

const subjectsOf = (owner: BranchTenant): Subjects => ({
  endpointId: endpoints.get(owner) ?? '',
  spareEndpoint: async () => (await p.as(owner.key).webhooks.createEndpoint(spare())).id,
  eventId: events.get(owner) ?? '',
  linkId: links.get(owner) ?? '',
  spareLink: async () => (await p.as(owner.key).paymentLinks.create(linkFor(owner.reference))).id,
  intentId: intents.get(owner) ?? '',
  spareIntent: async () => (await p.as(owner.key).paymentIntents.create({ amount: 9800, currency: 'PHP' })).id,
  paidIntentId: payments.get(owner) ?? '',
  refundId: refunds.get(owner) ?? '',
  spareCode: async () => (await qrAccount(p).made()).qrText,
  transactionId: transactions.get(owner) ?? '',
  batchNumber: '2026-01-15',
  branchId: owner.id,
  reference: owner.reference,
  groupId: p.merchant.terminal_group.id,
})

test('I1.levels.tree: partners have merchants, merchants have branches, each with a uuid and one above it', async () => {
  for (const { level, path } of everyone) {
    const entity = await p.kaha.identity.entity(path.at(-1) ?? '')
    assert.equal(entity?.level, level)
    assert.deepEqual([entity?.partner_id, entity?.merchant_id, entity?.branch_id].slice(0, path.length), path)
    assert.equal(['partner', 'merchant', 'branch'].indexOf(level), path.length - 1)
  }
})

const ofEndpoint = operations.filter(({ path }) => path.startsWith('/v1/webhook_endpoints/{id}'))
const pairs = everyone.flatMap((caller) => everyone.map((owner) => ({ caller, owner })))

/** A right request on what this entity has: to be refused on its endpoint itself, else where it may do harm on one to spare. */
const onEndpointOf = (operation: Operation, owner: Tenant, { refused }: { refused: boolean }): Promise<Call> => {
  const endpointId = endpoints.get(owner) ?? ''
  const toSpare = async () => (await p.as(owner.key).webhooks.createEndpoint(spare())).id
  const spareEndpoint = refused ? async () => endpointId : toSpare
  return rightCall(operation, { ...subjectsOf(people.branch), endpointId, spareEndpoint })
}

test('[I1.foreign.webhooks, I1.levels.not-above, I1.levels.not-beside] every operation on an endpoint is 403 for everybody but its entity and those above, and changes nothing', async () => {
  const standing = () =>
    Promise.all(
      everyone.map(async (owner) => {
        const endpoint = endpoints.get(owner) ?? ''
        const { webhooks } = p.as(owner.key)
        return [await webhooks.retrieveEndpoint(endpoint), await webhooks.retrieveSigningSecret(endpoint)]
      }),
    )
  const before = await standing()
  let refused = 0
  for (const { caller, owner } of pairs.filter((one) => !sees(one.caller, one.owner))) {
    for (const operation of ofEndpoint) {
      const request = await onEndpointOf(operation, owner, { refused: true })
      const answer = await ask({ ...request, key: caller.key })
      assertRefused(request.path, answer, 403, 'FORBIDDEN')
      assert.ok(!answer.text.includes(owner.id) && !answer.text.includes('https://shop.example.com'))
      refused += 1
    }
  }
  // Of 81 pairs 20 see each other: 6 of the partner, 3 and 3 and 2 and 2 of those with branches, 4 branches themselves.
  assert.equal(refused, ofEndpoint.length * (81 - 20))
  assert.deepEqual(await standing(), before)
})

test('[I1.levels.below] every operation on an endpoint serves its entity and those above', async () => {
  for (const { caller, owner } of pairs.filter((one) => sees(one.caller, one.owner))) {
    for (const operation of ofEndpoint) {
      const answer = await ask({
        ...(await onEndpointOf(operation, owner, { refused: false })),
        key: caller.key,
      })
      assert.ok(answer.status in operation.success, `${operation.id}, ${pair(caller, owner)}: ${answer.text}`)
    }
  }
})

test('I1.foreign.ecommerce: a link, an intent or a refund of somebody else is 404, exactly as one that does not exist', async () => {
  const nobodys = '01a1fcef-9ed7-78da-86e8-e01924f01831'
  const confirmation = { payment_method: { type: 'card', card: cardOf(cards.approved) } }
  for (const caller of everyone) {
    const tries = (owner: BranchTenant | undefined): Call[] => {
      const [link, intent, payment, refund] =
        owner === undefined
          ? [nobodys, nobodys, nobodys, nobodys]
          : [links.get(owner), intents.get(owner), payments.get(owner), refunds.get(owner)]
      const toRefund = { payment_intent_id: payment, amount: 1 }
      return [
        { path: `/ecom/v1/payment-links/${link}` },
        { path: `/ecom/v1/payment-intents/${intent}` },
        { method: 'POST', path: `/ecom/v1/payment-intents/${intent}/confirm`, body: confirmation },
        { method: 'POST', path: '/ecom/v1/payment-intents', headers: idempotent(), body: { payment_link_id: link } },
        { path: `/ecom/v1/refunds/${refund}` },
        { method: 'POST', path: '/ecom/v1/refunds', headers: idempotent(), body: toRefund },
      ]
    }
    const unknown = await Promise.all(tries(undefined).map((one) => ask({ ...one, key: caller.key })))
    for (const owner of branches) {
      for (const [index, request] of tries(owner).entries()) {
        if (sees(caller, owner) && index === 2) continue
        const answer = await ask({ ...request, key: caller.key })
        if (sees(caller, owner)) {
          assert.ok(answer.status < 300, `${pair(caller, owner)}: ${answer.text}`)
          continue
        }
        assertRefused(request.path, answer, 404, 'NOT_FOUND')
        assert.equal(answer.json.error.message, unknown[index]?.json.error.message)
      }
    }
  }
  for (const owner of branches) {
    assert.equal((await p.as(owner.key).paymentIntents.retrieve(intents.get(owner) ?? '')).status, 'ACTIVE')
  }
})

test('[I1.foreign.reporting, I1.levels.below, I1.levels.not-above, I1.levels.not-beside] a transaction of somebody else is 403, which tells nothing of it, and one that does not exist 404', async () => {
  const path = (id: string | undefined) => `/reports/v1/transactions/${id}`
  for (const caller of everyone) {
    const unknown = await ask({ path: path('01a1fcef-9ed7-78da-86e8-e01924f01831'), key: caller.key })
    assertRefused('/reports/v1/', unknown, 404, 'NOT_FOUND')
    const seen = await ask({ path: '/reports/v1/transactions?page_size=100', key: caller.key })
    const ids = (seen.json.data as { id: string }[]).map(({ id }) => id)
    for (const owner of branches) {
      const id = transactions.get(owner) ?? ''
      const answer = await ask({ path: path(id), key: caller.key })
      assert.equal(ids.includes(id), sees(caller, owner), pair(caller, owner))
      if (sees(caller, owner)) assert.equal(answer.json.data.merchant_details.branch_id, owner.id)
      else {
        assertRefused('/reports/v1/', answer, 403, 'FORBIDDEN')
        assert.equal(answer.json.error.message, 'This transaction belongs to another entity.')
      }
    }
  }
})

test("a client_secret is of no use with another entity's key", async () => {
  const intent = await p.as(people.branch.key).paymentIntents.create({ amount: 100, currency: 'PHP' })
  const body = { client_secret: intent.client_secret, payment_method: { type: 'card', card: cardOf() } }
  const path = `/ecom/v1/payment-intents/${intent.id}/confirm`
  for (const caller of everyone.filter((one) => !sees(one, people.branch))) {
    assertRefused(path, await ask({ method: 'POST', path, key: caller.key, body }), 404, 'NOT_FOUND')
  }
  assert.equal((await p.sdk.paymentIntents.retrieve(intent.id)).status, 'ACTIVE')
})

test('nobody makes a link or an intent for a branch that is not theirs', async () => {
  for (const caller of everyone) {
    for (const owner of branches) {
      const alike = owner.reference === people.branch.reference
      const own =
        sees(caller, owner) || (alike && branches.some((one) => one.reference === owner.reference && sees(caller, one)))
      const made = [
        { path: '/ecom/v1/payment-links', body: linkFor(owner.reference) },
        {
          path: '/ecom/v1/payment-intents',
          body: { amount: 1, currency: 'PHP', merchant_branch_reference_number: owner.reference },
        },
      ]
      for (const { path, body } of made) {
        const answer = await ask({ method: 'POST', path, headers: idempotent(), key: caller.key, body })
        if (own) assert.equal(answer.status, 201, pair(caller, owner))
        else assertRefused(path, answer, 400, 'INVALID_MERCHANT_BRANCH_REFERENCE_NUMBER')
      }
    }
  }
})

/** The rows of a list that the caller has no business to see. `ownerOf` finds whose a row is. */
function leaks(rows: readonly { id: string }[], caller: Tenant, ownerOf: (id: string) => Tenant | undefined): string[] {
  return rows.flatMap(({ id }) => {
    const owner = ownerOf(id)
    return owner !== undefined && sees(caller, owner) ? [] : [`${names.get(caller.id)} sees ${id}`]
  })
}

const ownerOfEndpoint = (id: string) => everyone.find((owner) => endpoints.get(owner) === id)

const branchOf = async (table: string): Promise<(id: string) => Tenant | undefined> => {
  const rows = await p.kaha.db.run<{ id: string; branch_id: string }>(
    statement(`test.branchOf ${table}`, `select id, branch_id from ${table}`),
    [],
  )
  const owners = new Map(rows.map(({ id, branch_id: branch }) => [id, branch]))
  return (id) => branches.find((one) => one.id === owners.get(id))
}

const listed = async (path: string, caller: Tenant): Promise<{ id: string }[]> => {
  const answer = await ask({ path, key: caller.key })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json.pagination.has_more, false)
  return answer.json.data
}

test('[A2.list.accessible, I1.levels.below, I1.levels.not-above, I1.levels.not-beside] the list of endpoints shows those of the caller and of everything under it, and no other', async () => {
  for (const caller of everyone) {
    const rows = await listed('/v1/webhook_endpoints?page_size=100', caller)
    assert.deepEqual(leaks(rows, caller, ownerOfEndpoint), [])
    assert.equal(rows.length, everyone.filter((owner) => sees(caller, owner)).length, names.get(caller.id))
  }
})

test('the list of links shows those of the caller and of everything under it, and no other', async () => {
  const ownerOf = await branchOf('ecommerce.links')
  for (const caller of everyone) {
    const rows = await listed('/ecom/v1/payment-links?page_size=200', caller)
    assert.deepEqual(leaks(rows, caller, ownerOf), [])
    for (const owner of branches.filter((one) => sees(caller, one))) {
      assert.ok(
        rows.some(({ id }) => id === links.get(owner)),
        pair(caller, owner),
      )
    }
  }
})

test('the list of events shows the named branch to those who see it, and an empty page to everybody else', async () => {
  const ownerOf = await branchOf('delivery.events')
  for (const caller of everyone) {
    for (const { id } of everyone) {
      const rows = await listed(`/v1/webhook_events?page_size=100&branch_id=${id}`, caller)
      assert.deepEqual(leaks(rows, caller, ownerOf), [])
      const named = branches.find((one) => one.id === id)
      assert.equal(rows.length > 0, named !== undefined && sees(caller, named))
    }
  }
})

test('control: a list that lost the entity from its WHERE would be reported as a leak', async () => {
  const unscoped = statement(
    'test.unscoped',
    'select id from delivery.destinations where deleted_at is null order by id desc',
  )
  const rows = await p.kaha.db.run<{ id: string }>(unscoped, [])
  for (const caller of everyone) {
    const foreign = everyone.filter((owner) => !sees(caller, owner)).length
    assert.equal(leaks(rows, caller, ownerOfEndpoint).length, foreign, names.get(caller.id))
    const doctored = [...(await listed('/v1/webhook_endpoints?page_size=100', caller)), { id: 'nobody knows whose' }]
    assert.equal(leaks(doctored, caller, ownerOfEndpoint).length, 1)
  }
})

test('[I1.scopes.missing] a missing scope is 403 for everybody, on their own things and on those of others', async () => {
  const scoped = operations.flatMap((operation) => scopesOf(operation).map((scope) => ({ operation, scope })))
  const callers = [people.merchant, people.branch, people.otherPartner]
  for (const { operation, scope } of scoped) {
    for (const caller of callers) {
      const { secretKey: key } = await keyFor(p, caller, { scopes: scopes.filter((one) => one !== scope) })
      for (const owner of [people.branch, people.otherMerchantsBranch, people.otherPartnersBranch]) {
        const request = await rightCall(operation, subjectsOf(owner))
        assertRefused(request.path, await ask({ ...request, key }), 403, 'FORBIDDEN')
      }
    }
  }
})

test('a key with no scope at all may do nothing', async () => {
  const { secretKey: key } = await keyFor(p, people.branch, { scopes: [] })
  for (const operation of operations) {
    const request = await rightCall(operation, subjectsOf(people.branch))
    assertRefused(request.path, await ask({ ...request, key }), 403, 'FORBIDDEN')
  }
})
