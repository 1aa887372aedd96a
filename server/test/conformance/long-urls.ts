import { randomBytes } from 'node:crypto'

/** URLs of 2,048 characters: one is sent as it is, of one 400 are sent as three each. With more of those the database would compress it. */
export function longUrls(): string[] {
  const random = randomBytes(1_600).toString('base64url')
  return [random, random.replaceAll(/(.{4})./g, "$1'")].map((query) =>
    `https://shop.example.com/?${query}`.slice(0, 2_048),
  )
}
