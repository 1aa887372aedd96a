import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopbackHost, webAddressProblem, webAddressWords } from './web-address.ts'

const callback = { loopbackHttp: false, fragment: false }
const sandboxCallback = { loopbackHttp: true, fragment: false }

const right = [
  'https://shop.example.com',
  'https://shop.example.com:8443/hook?shop=1&b=%20',
  'HTTPS://SHOP.example.com/',
  'https://shop.example.com/@hook?to=a@b',
  'https://shop.example.com./hook',
  `https://${'a'.repeat(63)}.example.com/`,
  `https://${'a.'.repeat(126)}a/`,
  'https://93.184.215.14/hook',
  'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hook',
]
for (const url of right) {
  test(`${url} may be called back`, () => {
    assert.equal(webAddressProblem(url, callback), null)
    assert.equal(webAddressProblem(url, sandboxCallback), null)
  })
}

const wrong: readonly (readonly [url: string, problem: string])[] = [
  ['', 'url'],
  ['shop.example.com/hook', 'url'],
  ['https://', 'url'],
  ['https:///shop.example.com/', 'url'],
  ['https:shop.example.com', 'url'],
  ['https:/shop.example.com', 'url'],
  ['https:\\\\shop.example.com', 'url'],
  ['https://a b.example.com/', 'url'],
  ['https://shop.example.com:99999/', 'url'],
  ['http://shop.example.com/hook', 'https'],
  ['ftp://shop.example.com/', 'https'],
  ['javascript:alert(1)', 'https'],
  ['data:text/html,x', 'https'],
  ['file:///etc/passwd', 'https'],
  ['https://user@shop.example.com/', 'no_user_information'],
  ['https://user:password@shop.example.com/', 'no_user_information'],
  ['https://:password@shop.example.com/', 'no_user_information'],
  ['https://@shop.example.com/', 'no_user_information'],
  ['https://./', 'host'],
  ['https://shop..example.com/', 'host'],
  ['https://.example.com/', 'host'],
  ['https://example.com../', 'host'],
  [`https://${'a'.repeat(64)}.example.com/`, 'host'],
  [`https://${'a.'.repeat(127)}a/`, 'host'],
  ['https://:@shop.example.com/', 'no_user_information'],
  ['https://shop.example.com/#top', 'no_fragment'],
  ['https://shop.example.com/#', 'no_fragment'],
]
for (const [url, problem] of wrong) {
  test(`${url || 'an empty address'} is refused as a callback for: ${problem}`, () => {
    assert.equal(webAddressProblem(url, callback), problem)
    assert.equal(webAddressProblem(url, sandboxCallback), problem)
  })
}

test('only a sandbox takes http, and only on this machine', () => {
  for (const host of [
    'localhost:3000',
    '127.0.0.1',
    '127.0.0.2',
    '127.255.255.255',
    '127.1',
    '[::1]:3000',
    '[::ffff:127.0.0.1]',
    '[::ffff:7fff:1]:3000',
  ]) {
    assert.equal(webAddressProblem(`http://${host}/hook`, sandboxCallback), null, host)
    assert.equal(webAddressProblem(`http://${host}/hook`, callback), 'https', host)
  }
  for (const host of [
    'localhost.example.com',
    '127.0.0.1.example.com',
    '10.0.0.1',
    '126.255.255.255',
    '128.0.0.1',
    '0.0.0.0',
    '[::]',
    '[::2]',
    '[::127.0.0.1]',
    '[::ffff:10.0.0.1]',
    '[::fffe:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
  ]) {
    assert.equal(webAddressProblem(`http://${host}/hook`, sandboxCallback), 'https', host)
  }
})

test('a host of this machine is known by its name, by an address, and by one in brackets', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.1', '::1', '[::1]', '::ffff:127.0.0.1'])
    assert.ok(isLoopbackHost(host), host)
  for (const host of ['', '0.0.0.0', '::', '127', '127.0.0', '127.0.0.1.example.com', '[127.0.0.1', 'localhost.'])
    assert.ok(!isLoopbackHost(host), host)
})

test('a redirect may carry a fragment', () => {
  assert.equal(webAddressProblem('https://shop.example.com/#thanks', { loopbackHttp: false, fragment: true }), null)
})

test('each problem of an address is told in words of its own, and where http may be used', () => {
  const problems = new Set(wrong.map(([, problem]) => problem))
  const words = new Set([...problems].map((problem) => webAddressWords(problem, callback)))
  assert.deepEqual([words.size, words.has('is no address.')], [problems.size, false])
  assert.match(webAddressWords('https', sandboxCallback), /^must use https; http is for localhost/)
})
