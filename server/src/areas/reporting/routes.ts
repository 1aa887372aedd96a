import {
  listReportBranches,
  listReportMerchants,
  listReportTransactions,
  listSettlements,
  retrieveReportTransaction,
  retrieveSettlement,
  scopesOf,
  type ReportingError,
} from '@kaha/contract'
import type { Static } from 'typebox'
import { requireScopes, type Principal } from '../../identity/principal.ts'
import type { Identity } from '../../identity/service.ts'
import { route, streamRoute, type Area, type Route } from '../../kernel/http/area.ts'
import { headerOf } from '../../kernel/http/header.ts'
import { listEnvelope } from '../../kernel/list.ts'
import { prefersCsv, transactionsCsv } from './csv.ts'
import { statuses } from './errors.ts'
import {
  presentBranch,
  presentDetail,
  presentMerchant,
  presentSettlement,
  presentSettlementDetail,
  presentTransaction,
} from './present.ts'
import type { ReportingService } from './service.ts'

const bodyBytesMax = 64 * 1024
const exportStalledMsMax = 30_000
const asCsv = { 'content-type': 'text/csv; charset=utf-8; header=present', vary: 'accept' }
const asJson = { vary: 'accept' }

export function reportingArea(identity: Identity, stalledMsMax = exportStalledMsMax): Area<Principal> {
  return {
    name: 'reporting',
    prefix: '/reports/v1',
    bodyBytesMax,
    stalledMsMax,
    statuses,
    envelope: ({ code, message }): Static<typeof ReportingError> => ({ error: { code, message } }),
    async authenticate(request, operation) {
      const principal = await identity.authenticate(headerOf(request, 'x-api-key'))
      requireScopes(principal, scopesOf(operation))
      return principal
    },
  }
}

export function reportingRoutes(service: ReportingService): Route<Principal>[] {
  return [
    route<typeof listReportMerchants, Principal>(listReportMerchants, async ({ principal, query }) => ({
      status: 200,
      body: listEnvelope(await service.listMerchants(principal, query), presentMerchant),
    })),

    route<typeof listReportBranches, Principal>(listReportBranches, async ({ principal, query }) => ({
      status: 200,
      body: listEnvelope(await service.listBranches(principal, query), presentBranch),
    })),

    streamRoute<typeof listReportTransactions, Principal>(
      listReportTransactions,
      async ({ principal, query, header }) =>
        prefersCsv(header('accept'))
          ? {
              status: 200,
              body: transactionsCsv(await service.exportTransactions(principal, query)),
              headers: asCsv,
            }
          : {
              status: 200,
              body: listEnvelope(await service.listTransactions(principal, query), presentTransaction),
              headers: asJson,
            },
    ),

    route<typeof retrieveReportTransaction, Principal>(retrieveReportTransaction, async ({ principal, params }) => ({
      status: 200,
      body: presentDetail(await service.retrieveTransaction(principal, params.id)),
    })),

    route<typeof listSettlements, Principal>(listSettlements, async ({ principal, query }) => ({
      status: 200,
      body: listEnvelope(await service.listSettlements(principal, query), presentSettlement),
    })),

    route<typeof retrieveSettlement, Principal>(retrieveSettlement, async ({ principal, params, query }) => ({
      status: 200,
      body: presentSettlementDetail(await service.retrieveSettlement(principal, params.batch_number, query)),
    })),
  ]
}
