# Every outcome that a report can hold.
RSpec.describe "Outcomes" do
  it("passes") { puts "printed"; expect(1).to eq 1 }
  it("fails <&> \"quoted\"") { expect([1, 2]).to eq [1, 3] }
  it("raises") { raise ArgumentError, "no\nsuch thing" }
  it("is pending") { skip "later" }
  it("passes the second time") do
    mark = File.join(__dir__, "second")
    again = File.exist?(mark)
    File.write(mark, "")
    expect(again).to be true
  end
  # Reports have milliseconds, and without the pause it may die within half of one.
  it("dies") { sleep 0.01; Process.kill(:KILL, Process.pid); sleep }
  it("hangs") { sleep }
end
