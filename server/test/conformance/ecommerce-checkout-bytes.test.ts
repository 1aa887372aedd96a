import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { platform } from '../platform.ts'
import { until } from '../until.ts'

// Bytes that no browser would send to a payer's page: the page of an error, and never a failure of ours.

const p = await platform({ after })
const page = '/pay/l/none'
const form = 'Host: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n'
const open = (bytes: string) => {
  const { hostname, port } = new URL(p.url)
  const socket = connect(Number(port), hostname, () => socket.write(bytes))
  return socket
}
const answerTo = async (bytes: string) => (await buffer(open(bytes))).toString()

test('a page that is asked for without Host, or sent a form larger than is read, says so', async () => {
  assert.match(await answerTo(`GET ${page} HTTP/1.1\r\nConnection: close\r\n\r\n`), /^HTTP\/1\.1 400 .*<html/s)
  const answer = await answerTo(`POST ${page} HTTP/1.1\r\n${form}Content-Length: 20000\r\n\r\n${'x'.repeat(20_000)}`)
  assert.match(answer, /^HTTP\/1\.1 413 .*<html/s)
})

test('a payer whose line breaks while the form is sent is no failure of ours', async () => {
  const told = (text: string) => p.logged.filter((line) => line.includes(text))
  const socket = open(`POST ${page} HTTP/1.1\r\n${form}Content-Length: 100\r\n\r\nhalf`)
  socket.on('error', () => {})
  await until('the first bytes', () => socket.bytesWritten > 0)
  socket.end()
  await until('its line in the log', () => told('"cut":true').some((line) => line.includes('checkout.payLink')))
  assert.deepEqual(told('a page failed for a cause of ours'), [])
})
