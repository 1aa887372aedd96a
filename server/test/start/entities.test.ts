import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createKaha } from '@kaha/sdk'
import { entitiesCommand } from '../../src/commands/entities.ts'
import { readConfig } from '../../src/config.ts'
import { StartFault } from '../../src/kernel/fault.ts'
import { finish, folder, freePort, launch, stop } from './program.ts'

const home = folder({ after })
const settings = {
  KAHA_DATA_DIR: join(home, 'live'),
  KAHA_MODE: 'live',
  KAHA_PORT: String(await freePort()),
  KAHA_BASE_URL: 'https://pay.example.com',
  KAHA_MASTER_KEY: randomBytes(32).toString('base64'),
}

async function kaha(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await finish({ after }, { args, settings })
  assert.equal(code, 0, stderr)
  return stdout
}

const make = async (...args: readonly string[]) =>
  JSON.parse(await kaha('entities', 'create', '--json', ...args)) as Record<string, string | null> & { id: string }

test('a live installation is set up from nothing with commands: a partner, a merchant, a branch and a key that makes links', async (t) => {
  // In a wrong folder nothing is there, which is not told as if it were all.
  for (const command of ['entities', 'keys', 'terminals', 'processes', 'attention']) {
    const { code, stderr } = await finish({ after }, { args: [command, 'list'], settings })
    assert.deepEqual([code, existsSync(settings.KAHA_DATA_DIR)], [1, false])
    assert.match(stderr, /^kaha: there is no .*live: start Kaha first, or say in KAHA_DATA_DIR where its data is\n$/)
  }
  const partner = await make('--level', 'partner', '--name', 'Our company')
  // By that the database is live, and of that master key: nobody makes it anything else by mistake.
  const further = ['entities', 'create', '--level', 'partner', '--name', 'Another']
  for (const [line, change] of [
    [/this database belongs to a live installation and this is meant for sandbox/, { KAHA_MODE: 'sandbox' }],
    [/sealed with another master key/, { KAHA_MASTER_KEY: randomBytes(32).toString('base64') }],
  ] as const) {
    const { code, stderr } = await finish({ after }, { args: further, settings: { ...settings, ...change } })
    assert.equal(code, 1, stderr)
    assert.match(stderr, line)
  }
  const live = launch(t, { args: ['start'], settings })
  await live.says(/Kaha is running in live mode/)

  // 255 characters, each of which is two where texts are counted in UTF-16.
  const merchant = await make('--level', 'merchant', '--name', '\u{1f3ea}'.repeat(255), '--parent', partner.id)
  const ofBranch = ['--level', 'branch', '--parent', merchant.id, '--reference', 'CEBU'] as const
  const branch = await make('--name', 'Corner shop, Cebu', ...ofBranch)
  assert.deepEqual(branch, {
    id: branch.id,
    level: 'branch',
    name: 'Corner shop, Cebu',
    partner_id: partner.id,
    merchant_id: merchant.id,
    reference_number: 'CEBU',
    activation_code: branch['activation_code'],
  })
  const code = branch['activation_code'] ?? ''
  assert.match(code, /^([A-Z0-9]{4}-){3}[A-Z0-9]{4}$/)
  assert.equal(await kaha('entities', 'code', branch.id), `${code}\n`)
  const listed = (await kaha('entities', 'list')).trimEnd().split('\n').slice(1)
  assert.deepEqual(
    listed.map((line) => line.slice(0, 36)),
    [partner.id, merchant.id, branch.id],
  )
  assert.match(listed[2] ?? '', new RegExp(`branch    ${merchant.id}  Corner shop, Cebu \\(CEBU\\)$`))
  const json = JSON.parse(await kaha('entities', 'list', '--json')) as { id: string }[]
  assert.deepEqual(
    json.map(({ id }) => id),
    [partner.id, merchant.id, branch.id],
  )

  const { secret_key: apiKey } = JSON.parse(await kaha('keys', 'issue', '--entity', merchant.id, '--json')) as {
    secret_key: string
  }
  const sdk = createKaha({ baseUrl: `http://127.0.0.1:${settings.KAHA_PORT}`, apiKey })
  const link = await sdk.paymentLinks.create({
    type: 'one_time',
    currency: 'PHP',
    amount: 9800,
    line_items: [{ sku: 'MUG', name: 'Mug', unit_price: 9800, quantity: 1 }],
    merchant_branch_reference_number: 'CEBU',
  })
  assert.equal(link.merchant_branch_reference_number, 'CEBU')

  for (const [line, ...args] of [
    [/this partner has a branch with the reference CEBU: take another/, '--name', 'Another', ...ofBranch],
    [/is no partner; `kaha entities list` shows them/, '--level', 'merchant', '--name', 'A', '--parent', merchant.id],
  ] as const) {
    const { code: exit, stdout, stderr } = await finish({ after }, { args: ['entities', 'create', ...args], settings })
    assert.deepEqual([exit, stdout], [1, ''], stderr)
    assert.match(stderr, /^kaha: [^\n]+\n$/)
    assert.match(stderr, line)
  }
  assert.equal(await stop(live), 0)
})

test('what `kaha entities` does not know is told in one line, before a database is touched', async () => {
  const id = '01a1fd0e-4d84-700f-8b34-6b8129a934ec'
  const named = ['create', '--name', 'A'] as const
  const cases: readonly (readonly [line: RegExp, ...args: string[]])[] = [
    [/there is no `kaha entities delete`; `kaha entities --help` lists what there is/, 'delete'],
    [/Unknown option '--all'; `kaha entities --help` tells what there is/, 'list', '--all'],
    [/there is no `kaha entities list me`/, 'list', 'me'],
    [/`kaha entities list` takes no --parent/, 'list', '--parent', id],
    [/say which branch: `kaha entities code ID`/, 'code'],
    [/^CEBU is no id; `kaha entities list` shows them$/, 'code', 'CEBU'],
    [/say which entity: `kaha entities lock ID`/, 'lock'],
    [/^CEBU is no id; `kaha entities list` shows them$/, 'lock', 'CEBU'],
    [/say what it is: --level partner, merchant or branch/, ...named],
    [/say what it is/, ...named, '--level', 'shop'],
    [/say its name: --name and a text of 255 characters at most/, 'create', '--level', 'partner'],
    [/characters at most, on one line/, 'create', '--level', 'partner', '--name', '\u001b[31mred'],
    [/characters at most, on one line/, 'create', '--level', 'partner', '--name', 'shop \u202egnp.exe'],
    [/characters at most, on one line/, 'create', '--level', 'partner', '--name', '\u200b'],
    [/say its name/, 'create', '--level', 'partner', '--name', ' '],
    [/a partner stands under nobody: leave --parent out/, ...named, '--level', 'partner', '--parent', id],
    [/say whose it is: --parent and the id of a partner/, ...named, '--level', 'merchant'],
    [/say whose it is: --parent and the id of a merchant/, ...named, '--level', 'branch'],
    [/^CEBU is no id; `kaha entities list` shows them$/, ...named, '--level', 'branch', '--parent', 'CEBU'],
    [/only a branch has a reference/, ...named, '--level', 'merchant', '--parent', id, '--reference', 'R'],
    [
      /say its reference: --reference and a text of 100 characters at most/,
      ...named,
      '--level',
      'branch',
      '--parent',
      id,
    ],
  ]
  const config = readConfig({ KAHA_DATA_DIR: join(home, 'never-made') })
  for (const [line, ...args] of cases) {
    await assert.rejects(entitiesCommand(config, args), (fault) => {
      assert.ok(fault instanceof StartFault)
      assert.match(fault.message, line)
      return !fault.message.includes('\n')
    })
  }
})
