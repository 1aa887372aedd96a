import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isPublicAddress, targetOf } from './addresses.ts'

/**
 * First and last address of each range that no public host has, with the neighbours outside of it that a public host
 * may have.
 */
const edges: [first: string, last: string, before: string | null, after: string | null][] = [
  ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.31.196.0', '192.31.196.255', '192.31.195.255', '192.31.197.0'],
  ['192.52.193.0', '192.52.193.255', '192.52.192.255', '192.52.194.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['192.175.48.0', '192.175.48.255', '192.175.47.255', '192.175.49.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '239.255.255.255', '223.255.255.255', null],
  ['240.0.0.0', '255.255.255.255', null, null],
  ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null, '2000::'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:7fff:ffff::1', '2620:4f:8001::'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
]

for (const [first, last, before, after] of edges) {
  test(`${first} to ${last} is not public, and the addresses next to it are`, () => {
    assert.equal(isPublicAddress(first), false)
    assert.equal(isPublicAddress(last), false)
    if (before !== null) assert.equal(isPublicAddress(before), true, before)
    if (after !== null) assert.equal(isPublicAddress(after), true, after)
  })
}

test('well-known public hosts are public', () => {
  for (const address of ['1.1.1.1', '8.8.8.8', '93.184.215.14', '2606:4700:4700::1111', '2a00:1450:4001:830::200e']) {
    assert.equal(isPublicAddress(address), true, address)
  }
})

test('an IPv6 address that carries a private IPv4 address is not public, however it carries it', () => {
  const carriers = [
    '::127.0.0.1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:0:169.254.169.254',
    '64:ff9b::127.0.0.1',
    '64:ff9b:1::10.0.0.1',
    '2002:7f00:1::',
    '2002:a9fe:a9fe::1',
    '2001:0:4136:e378:8000:63bf:80ff:fffe',
    'fe80::5efe:10.0.0.1',
    '2606:4700::5efe:10.0.0.1',
    '2606:4700::200:5efe:192.168.1.1',
  ]
  for (const address of carriers) assert.equal(isPublicAddress(address), false, address)
})

test('an IPv6 address that carries even a public IPv4 address is not public, for its network decides where it leads', () => {
  for (const address of ['::ffff:8.8.8.8', '::8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::1']) {
    assert.equal(isPublicAddress(address), false, address)
  }
})

test('what is not an address in its plain spelling is not public', () => {
  const spellings = [
    '',
    ' ',
    '8',
    '8.8',
    '8.8.8',
    '8.8.8.8.8',
    '8.8.8.8.',
    ' 8.8.8.8',
    '8.8.8.8 ',
    '08.8.8.8',
    '010.8.8.8',
    '0x8.8.8.8',
    '134744072',
    '0x08080808',
    '256.8.8.8',
    '８.8.8.8',
    '[2606:4700::1111]',
    '2606:4700::1111/128',
    '2606:4700::1111::',
    'fe80::1%eth0',
    '2606:4700::1111%eth0',
    '::1%2606:4700::1111',
    'example.com',
    'localhost',
    'undefined',
  ]
  for (const spelling of spellings) assert.equal(isPublicAddress(spelling), false, JSON.stringify(spelling))
})

test('any text at all gets an answer', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.ipV4Extended(), fc.ipV6()),
      (text) => typeof isPublicAddress(text) === 'boolean',
    ),
  )
})

test('no IPv6 address outside of 2000::/3 is public', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const head = Number.parseInt(address.startsWith(':') ? '0' : (address.split(':')[0] ?? ''), 16)
      fc.pre(head < 0x2000 || head > 0x3fff)
      return !isPublicAddress(address)
    }),
  )
})

test('only https to public hosts may be a destination in public mode, and only http and private hosts beside it elsewhere', () => {
  const urls: [url: string, inPublic: boolean, inAny: boolean][] = [
    ['https://example.com/hook', true, true],
    ['HTTPS://EXAMPLE.COM:8443/hook?a=1', true, true],
    ['https://example.com./', true, true],
    ['https://[2606:4700:4700::1111]/', true, true],
    ['https://93.184.215.14/', true, true],
    ['http://example.com/hook', false, true],
    ['http://127.0.0.1/', false, true],
    ['http:\\\\127.0.0.1\\', false, true],
    ['https:\\\\127.0.0.1\\@example.com', false, true],
    ['https://user@example.com/', false, false],
    ['https://user:password@example.com/', false, false],
    ['https://:password@example.com/', false, false],
    ['https://example.com@127.0.0.1/', false, false],
    ['https://example.com/#fragment', false, false],
    ['https://example.com/#', false, false],
    ['https://example.com:0/', false, false],
    ['https://example.com:65536/', false, false],
    ['https://127.0.0.1%00.example.com/', false, false],
    ['https://[fe80::1%25eth0]/', false, false],
    ['https://1.2.3.4.5/', false, false],
    ['https://', false, false],
    ['//example.com/', false, false],
    ['/hook', false, false],
    ['', false, false],
    ['ftp://example.com/', false, false],
    ['ws://example.com/', false, false],
    ['file:///etc/passwd', false, false],
    ['data:text/plain,x', false, false],
    ['javascript:1', false, false],
    ['gopher://127.0.0.1/', false, false],
    ['unix:/var/run/docker.sock', false, false],
  ]
  for (const [url, inPublic, inAny] of urls) {
    assert.equal(typeof targetOf(url, 'public') === 'object', inPublic, `public: ${url}`)
    assert.equal(typeof targetOf(url, 'any') === 'object', inAny, `any: ${url}`)
  }
})

test('a destination is split into what is dialled and what is asked for, in one spelling', () => {
  assert.deepEqual(targetOf('HTTPS://Example.COM:443/a%20b?c=d', 'public'), {
    origin: 'https://example.com',
    path: '/a%20b?c=d',
  })
  assert.deepEqual(targetOf('http://0x7f.1:8080', 'any'), { origin: 'http://127.0.0.1:8080', path: '/' })
})
