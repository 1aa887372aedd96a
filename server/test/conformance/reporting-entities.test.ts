import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createBranch, createMerchant, createPartner } from '../../src/identity/issue.ts'
import { newKey, platform } from '../platform.ts'
import { assertRefused, call } from './call.ts'
import { everybody, keyFor } from './people.ts'
import { idsOf } from './reports.ts'

// Area B: merchants and branches.

const p = await platform({ after })
const people = await everybody(p)

test('[B3.merchants.ok, B3.merchants.order, B3.branches.ok, B3.branches.order] merchants and branches come by name in collation C, then by id', async () => {
  const at = p.kaha.clock.now()
  const merchant = await p.kaha.identity.entity(people.otherPartnersMerchant.id)
  assert.ok(merchant)
  for (const name of ['b', 'B', 'a', 'A', 'Ñ', 'a', '100', 'a b', 'á'])
    await createBranch(p.kaha.db, merchant, name, newKey(), at)
  const { key } = people.otherPartnersMerchant
  const { reports } = p.as(key)
  const rows = (await reports.listBranches({ page_size: 100 })).data
  const sorted = rows.toSorted(
    (one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)) || (one.id < other.id ? -1 : 1),
  )
  assert.deepEqual(rows, sorted)
  assert.equal(rows.length, 10)
  for (const row of rows) assert.deepEqual(Object.keys(row), ['id', 'name', 'merchant_id'])
  for (const size of [1, 3]) {
    const found = []
    for await (const one of reports.listAllBranches({ page_size: size })) found.push(one)
    assert.deepEqual(found, rows)
  }
  const merchants = (await p.as(p.seed.partner.secret_key).reports.listMerchants()).data
  assert.deepEqual(
    merchants,
    p.seed.merchants.map(({ id, name }) => ({ id, name })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  )
  const found = []
  for await (const one of p.as(p.seed.partner.secret_key).reports.listAllMerchants({ page_size: 1 })) found.push(one)
  assert.deepEqual(found, merchants)
})

test('[B3.merchants.order, B3.branches.order] pages go on behind the longest names that there may be', async () => {
  const at = p.kaha.clock.now()
  const partner = await createPartner(p.kaha.db, 'Long names', at)
  // As `kaha entities` counts them; of each letter UTF-8 has three bytes.
  const names = ['1', '2', '3'].map((last) => `${'\u8336'.repeat(254)}${last}`)
  for (const name of names) await createMerchant(p.kaha.db, partner.id, name, at)
  const merchant = await createMerchant(p.kaha.db, partner.id, 'a', at)
  for (const name of names) await createBranch(p.kaha.db, merchant, name, newKey(), at)
  const { secretKey } = await keyFor(p, { id: partner.id, level: 'partner' }, { scopes: ['reports.read'] })
  const { reports } = p.as(secretKey)
  const found = { merchants: [] as string[], branches: [] as string[] }
  for await (const { name } of reports.listAllMerchants({ page_size: 1 })) found.merchants.push(name)
  for await (const { name } of reports.listAllBranches({ page_size: 1 })) found.branches.push(name)
  assert.deepEqual(found, { merchants: ['a', ...names], branches: names })
})

test('[B3.branches.visible, B3.branches.merchant, B3.branches.stable, I1.levels.parent-name] everybody sees the branches and merchants of their own, a branch the name of its merchant, and a filter on others keeps nothing', async () => {
  const branchesOf = async (key: string, query = '') =>
    (await call(p.url, { path: `/reports/v1/branches?page_size=100${query}`, key })).json.data as { id: string }[]
  const merchantsOf = async (key: string) => (await p.as(key).reports.listMerchants()).data
  const own = p.merchant.branches.map(({ id }) => id)
  const seen = idsOf(await branchesOf(p.merchant.secret_key))
  for (const id of own) assert.ok(seen.includes(id))
  assert.deepEqual(idsOf(await branchesOf(p.branch.secret_key)), [p.branch.id])
  assert.deepEqual(idsOf(await branchesOf(p.branch.secret_key, `&merchant_id=${p.merchant.id}`)), [p.branch.id])
  const partners = idsOf(await branchesOf(p.seed.partner.secret_key))
  assert.ok(p.seed.merchants.every(({ branches }) => branches.every(({ id }) => partners.includes(id))))
  assert.ok(!partners.includes(people.otherPartnersBranch.id))
  const kept = await branchesOf(p.seed.partner.secret_key, `&merchant_id=${people.otherMerchant.id}`)
  assert.equal(kept.length, 2)
  for (const id of [people.otherMerchant.id, people.otherPartnersMerchant.id, p.branch.id])
    assert.deepEqual(await branchesOf(p.merchant.secret_key, `&merchant_id=${id}`), [])
  const mine = { id: p.merchant.id, name: p.merchant.name }
  assert.deepEqual(await merchantsOf(p.merchant.secret_key), [mine])
  assert.deepEqual(await merchantsOf(p.branch.secret_key), [mine])
  const { secretKey } = await keyFor(p, { id: p.branch.id, level: 'branch' }, { scopes: ['reports.read'] })
  assert.deepEqual(await merchantsOf(secretKey), [mine])
})

test('[B3.branches.merchant-canonical, B3.branches.page-size-default, B3.branches.page-size-clamped, B3.branches.page-size-invalid] branches take a canonical merchant_id alone, and pages of 1 to 100', async () => {
  const branches = '/reports/v1/branches'
  const ask = (query: string) => call(p.url, { path: `${branches}?${query}`, key: p.merchant.secret_key })
  const { id } = p.merchant
  for (const text of [id.toUpperCase(), `{${id}}`, id.replaceAll('-', ''), `urn:uuid:${id}`, '', 'x', `${id} `])
    assertRefused(branches, await ask(`merchant_id=${encodeURIComponent(text)}`), 400, 'BAD_REQUEST')
  assert.equal((await ask('')).json.pagination.page_size, 20)
  for (const size of ['101', '5000', '9'.repeat(15), '9'.repeat(16), '9'.repeat(400)])
    assert.equal((await ask(`page_size=${size}`)).json.pagination.page_size, 100)
  for (const size of ['0', '-1', `-${'9'.repeat(400)}`, '1.0', '2.5', 'ten', ''])
    assertRefused(branches, await ask(`page_size=${size}`), 400, 'BAD_REQUEST')
})

test('B3.branches.merchant: a page of the branches of one merchant goes on with that merchant alone', async () => {
  const { reports } = p.as(p.seed.partner.secret_key)
  const ofOne = { merchant_id: p.merchant.id, page_size: 1 }
  const { next_cursor: cursor } = (await reports.listBranches(ofOne)).pagination
  assert.ok(cursor !== null)
  assert.equal((await reports.listBranches({ ...ofOne, cursor })).data[0]?.merchant_id, p.merchant.id)
  for (const query of [{}, { merchant_id: people.otherMerchant.id }])
    await assert.rejects(reports.listBranches({ ...query, cursor }), { status: 400, code: 'BAD_REQUEST' })
})
