import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reachesCluster, testFiles } from './files.ts'

test('a test file uses the database when something that it imports reads the address of the cluster', () => {
  const texts = new Map([
    ['server/src/a/a.test.ts', `import { platform } from '../../test/platform.ts'`],
    ['server/test/platform.ts', `export { database } from './database.ts'`],
    ['server/test/database.ts', `import './platform.ts'\nexport const database = process.env['KAHA_TEST_CLUSTER']`],
    ['server/src/b.test.ts', `// import '../test/platform.ts'\nimport { b } from './b.ts'`],
    ['server/src/b.ts', ''],
  ])
  assert.equal(reachesCluster('server/src/a/a.test.ts', texts), true)
  assert.equal(reachesCluster('server/src/b.test.ts', texts), false)
})

test('a test file uses a browser when something that it imports opens one, whatever folder it lies in', () => {
  const browsers = (wanted: string) => testFiles([wanted]).map(({ usesBrowser }) => usesBrowser)
  assert.deepEqual(browsers('server/test/journeys/checkout-once.test.ts'), [true])
  assert.deepEqual(browsers('server/test/journeys/checkout-requests.test.ts'), [false])
  assert.deepEqual(browsers('scripts/testing/files.test.ts'), [false])
})

test('a test file that changes how modules are loaded, or imports what does, needs a process in which none were', () => {
  const fresh = (wanted: string) => testFiles([wanted]).map(({ needsFreshModules }) => needsFreshModules)
  assert.deepEqual(fresh('server/test/conformance/sandbox-live.test.ts'), [true])
  assert.deepEqual(fresh('server/test/faults/cap-control.test.ts'), [true])
  assert.deepEqual(fresh('server/test/faults/cap.test.ts'), [false])
})

test('test files are chosen by path: a file, a folder, or all of them', () => {
  const paths = (...wanted: string[]) => testFiles(wanted).map(({ path }) => path)
  assert.deepEqual(paths('scripts/testing/files.test.ts'), ['scripts/testing/files.test.ts'])
  assert.deepEqual(paths('./scripts/testing/'), [
    'scripts/testing/files.test.ts',
    'scripts/testing/test-process.test.ts',
  ])
  assert.deepEqual(paths('scripts/test'), [])
  assert.ok(paths().includes('server/test/architecture.test.ts'))
})
