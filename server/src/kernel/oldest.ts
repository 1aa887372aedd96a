/** Makes room for one more in a map that is full: what was put in first is forgotten. */
export function makeRoom<Key>(map: Map<Key, unknown>, sizeMax: number): void {
  if (map.size < sizeMax) return
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
