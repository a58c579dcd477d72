// Package admission_test holds what looks at the whole module rather than at the
// controller, and this table. Other libraries of this kind were reported to fail in
// the following ways, K01 to K23, of which the cases B01 to B40 that tests cite are
// examples. Each line names the tests that hold the whole kind, wherever they are; the
// cases alone would hold one instance of it. [TestEveryKindOfFaultIsHeld] holds the
// table to the tests there are.
//
//	K01 slot leak, the work ends abnormally: TestAbnormalEndGivesTheSlotBack TestEveryEndOfAHandlerGivesTheSlotBack TestPanicsOnAServer TestCallsThatNeverBegin TestHTTPChaos TestSoak
//	K02 slot lost between grant and departure: TestGrantRacesTimeout TestGrantMeetsDepartedCaller TestStorm FuzzLane
//	K03 release too early, twice, or no roll-back: TestSlotIsHeldUntilTheWorkReturns TestCancelFreesNothing TestTimeoutReleasesNoSlotWhileTheWorkGoesOn TestCancelReleasesNoSlotWhileTheWorkGoesOn TestRefusalTakesNothing TestNoisyTenantCostsOthersNothing TestPanicsOnTheWayTakeNothing TestCallerLeavesAtEachStep TestEveryStageIsUndone TestGuardsRollBack FuzzRegulators
//	K04 dead waiters: TestDeadWaitersAreNotServed TestDeadWaitersDoNotConvoy TestDeadWaitersHoldNoPlace TestWaitIsBounded TestGrantSkipsTheDead TestClientThatLeavesTheQueue
//	K05 stuck queue: TestCappedTenantDoesNotBlockTheQueue TestLeavingHeadLetsOthersGo TestExpiringHeadLetsOthersGo TestCostBeyondTheLimitRunsAlone TestAbandonedWaitersDoNotBlockTheQueue TestWakeUps FuzzLane FuzzQueue
//	K06 over-admission: TestNeverMoreThanTheLimit TestNeverMoreThanTheCap TestNeverMoreThanAMovingLimit TestGuardsConcurrently FuzzRegulators
//	K07 limit stuck low or ratcheting down: TestB09LimitMovesWhenEverythingIsDropped TestB36FewFailuresRefuseNobody TestLawCutsWhenAllFailsAndComesBack TestOctaveLeavesTheFloor TestLawProperties
//	K08 limit or baseline drifts up: TestB10BaselineDoesNotDriftUp TestVegasMeasuresItsBaselineAnew TestOctaveBaseline TestLongRuns
//	K09 polluted samples: TestB20FewAndFastHealthChecksDoNotCutTheLimit TestB32CallersWhoLeaveDoNotMoveTheLimit TestClientsThatLeaveDoNotMoveTheLimit TestOctaveIgnoresBadSamples TestOctaveLearnsNothingFromFewAndUnlike TestStreamsAreNoSamples TestDoMapsErrorsToOutcomes
//	K10 starvation and ordering: TestEqualPrioritiesAreServedInOrder TestStandingQueueDrains TestTiersUnderOverload TestNobodyOvertakesWaiters TestLaneServesTiersInOrder FuzzQueue
//	K11 critical work shed: TestB11ExemptPassAllRegulators TestExemptIsNeverShed TestProbesPassWhenAllElseIsShed TestHealthChecksPassWhenAllElseIsShed TestProbesAreRecognisedExactly TestInfrastructureIsRecognisedExactly TestInversion
//	K12 long-lived streams: TestStreamsAreNoSamples TestStreamsBesideShortRequests TestStreamsBesideShortCalls TestEveryEndOfAStreamGivesItsSlotBack TestTenThousandStreamsDropped TestLateStreamsDoNotMoveTheLimit TestUpgradedConnectionEchoes
//	K13 numbers: TestRefusalsDoNotUnbalanceCounters TestRefusalsOnTheWayLeaveInflightAlone TestAbsurdReadingsAreIgnored TestAbsurdSamplesAreHarmless TestB38DurationsHaveUnits TestB38DurationsAtStartAndByReload TestB38TimesAreInSeconds TestHugeCostKeepsTheLimit FuzzControllerStep FuzzLimit
//	K14 clock: TestIdleMonthCostsNothing TestClockJumpsAhead TestClockStepsBack TestWaitIsNeverNegative TestShellsClockIsMonotonic TestClockJumps TestLawBearsAClockThatGoesBack
//	K15 reload: TestB15UnreadableIsNotZero TestB27ReloadsKeepCounts TestB27ReloadsKeepWhatWasLearned TestB27ReloadsKeepWhoWaits TestB28HalfWritten TestB29EveryKindOfChangeIsSeen TestB29AThousandRenames TestAThousandReloads TestApplyRefusesABadConfigWhole
//	K16 unbounded growth: TestB16MadeUpTenants TestB39NothingIsLeftOfRequestsThatEnd TestMillionNames TestAMillionTenants TestManyTenants TestKeyedSignalOfManyActors TestGuardsUnderMadeUpNames TestForgottenRefusalsAreBounded TestHungPollIsOneGoroutine
//	K17 metrics missing, doubled or negative: TestB21EveryReasonIsCounted TestB35EveryRequestOnce TestB35TwoControllers TestHooksAreToldOnce
//	K18 retry storm: TestRetryStormEnds TestRetryStormEndsWithItsCause TestRefusalsSayWhenToComeBack TestObedientClientsComeBackSpread TestRetriesAreNotAmplified TestHostileFloods TestHostileCalls
//	K19 stale signal latches: TestB08StaleSignalDoesNotLatch TestBrokenSignalsFailOpen TestBrokenKeyedSignalsFailOpen TestStaleValueDoesNotLatchMax TestLullEndsShedding
//	K20 glue, refused work runs, wrapper hides: TestRefusedWorkDoesNotRun TestNothingIsRefusedWhenOff TestShedIsNotServed TestWriterKeepsItsOptionalInterfaces TestEventsArriveOneByOne TestFirstStatusIsSentAndRecorded TestHijackIsRefusedAsWithoutUs
//	K21 wind-up and oscillation: TestB30GateDoesNotWindUp TestB30SignalDoesNotWindUp TestControllerDoesNotWindUp TestSignalUnderAnOscillation TestControllerBoundedWhateverIsFed
//	K22 race, reused object: TestReuseUnderRace TestStaleReleaseFreesNothing TestTicketKeepsItsOwnWait TestConcurrent TestRulesAreCopied
//	K23 shutdown: TestCloseWakesWaiters TestCloseIsTheReason TestCloseNamesHungSignal TestCloseAnswersThoseWhoWait TestSoak
package admission_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each of the 23 kinds has a line above, each test that a line names is there, and
// each of the 40 cases is cited where it is tested.
func TestEveryKindOfFaultIsHeld(t *testing.T) {
	tests, cases := testsOfTheModule(t)
	own, err := parser.ParseFile(token.NewFileSet(), "kinds_of_fault_test.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^\tK(\d\d) [^:]+: (.+)$`).FindAllStringSubmatch(own.Doc.Text(), -1)
	if len(lines) != 23 {
		t.Errorf("the table has %d kinds, want 23", len(lines))
	}
	for i, line := range lines {
		if want := twoDigits(i + 1); line[1] != want {
			t.Errorf("line %d is of K%s", i+1, line[1])
		}
		for name := range strings.FieldsSeq(line[2]) {
			if !tests[name] {
				t.Errorf("K%s: there is no test %s", line[1], name)
			}
		}
	}
	for i := range 40 {
		if id := "B" + twoDigits(i+1); !cases[id] {
			t.Errorf("no test cites %s", id)
		}
	}
}

func twoDigits(n int) string { return string([]byte{'0' + byte(n/10), '0' + byte(n%10)}) }

// testsOfTheModule are the names of all tests, those of the examples too, and the cases
// that they cite in name or comment.
func testsOfTheModule(t *testing.T) (tests, cases map[string]bool) {
	t.Helper()
	tests, cases = map[string]bool{}, map[string]bool{}
	id := regexp.MustCompile(`\bB\d\d\b`)
	inName := regexp.MustCompile(`^TestB\d\d`)
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			tests[f.Name.Name] = true
			cases[strings.TrimPrefix(inName.FindString(f.Name.Name), "Test")] = true
			for _, cited := range id.FindAllString(f.Doc.Text(), -1) {
				cases[cited] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests, cases
}
