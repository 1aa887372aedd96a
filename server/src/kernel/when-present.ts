/** One property to spread into an object, left out where there is no value. */
export const whenPresent = <K extends string, V>(key: K, value: V | null | undefined): Partial<Record<K, V>> =>
  value === null || value === undefined ? {} : ({ [key]: value } as Record<K, V>)
