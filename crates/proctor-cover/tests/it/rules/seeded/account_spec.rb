require "spec_helper"

describe Account do
  before(:each) do
    @account = Account.new(100) # !11
    @owner = "Ann" # !11
  end

  it "should have a balance" do # !19
    expect(@account.balance).to eq 100
  end

  it "withdraws money" do # !3
    @account.withdraw(30)
    expect(@account.balance).to eq(70)
    expect(@account.history.size).to eq(1)
    expect(@account.owner).to eq(@owner)
  end

  context "if the balance is too low" do # !20
    it "raises" do
      expect { @account.withdraw(1_000) }.to raise_error(InsufficientFunds)
    end
  end

  it "doesn't blow up" do
    expect { @account.close! }.not_to raise_error # !1
  end

  describe "when frozen" do # !20
    before { @account.freeze! }

    it "Refuses deposits." do # !17
      expect { @account.deposit(1) }.to raise_error(FrozenAccount)
    end
  end
end
