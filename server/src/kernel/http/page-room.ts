import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../fault.ts'
import { nothingHere } from './area.ts'

/** Prepares a room for pages: its forms are read as URLSearchParams and nothing else is, and whatever goes wrong in it is told by `refuse`. */
export function preparePageRoom(
  room: FastifyInstance,
  formBytesMax: number,
  refuse: (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown,
): void {
  readForms(room, formBytesMax)
  room.setErrorHandler(refuse)
  room.setNotFoundHandler((request, reply) => refuse(nothingHere(), request, reply))
}

/** The status of a page that tells of an error: of a Fault by its code, of what Fastify throws its own where that is the caller's; else 500. */
export function statusOfPage(error: unknown, statuses: Readonly<Record<string, number>>): number {
  if (error instanceof Fault) return statuses[error.code] ?? 500
  const thrown = typeof error === 'object' && error !== null && 'statusCode' in error ? Number(error.statusCode) : 500
  return thrown >= 400 && thrown < 500 ? thrown : 500
}

/** Lets a room read forms without files, and nothing else. */
export function readForms(room: FastifyInstance, formBytesMax: number): void {
  room.removeAllContentTypeParsers()
  room.addHook('onRoute', (route) => {
    route.bodyLimit ??= formBytesMax
  })
  room.addContentTypeParser(
    'application/x-www-form-urlencoded',
    async ({ sent }: FastifyRequest) => new URLSearchParams((await sent).toString()),
  )
}
